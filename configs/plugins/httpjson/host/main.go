// Command host takes what configs/plugins/httpjson sends, on port 8765 of this machine, and honours the Idempotency-Key: a request that
// it has taken before is answered and not counted again. It ends with its input.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func main() {
	taken := &inbox{bodies: map[string][]byte{}}
	go func() {
		fmt.Fprintln(os.Stderr, http.ListenAndServe("localhost:8765", taken))
		os.Exit(1)
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// inbox is all that was taken, by its key.
type inbox struct {
	mu     sync.Mutex
	bodies map[string][]byte
	rows   int
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var rows []json.RawMessage
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &rows)
	}
	key := r.Header.Get("Idempotency-Key")
	in.mu.Lock()
	defer in.mu.Unlock()
	before, again := in.bodies[key]
	switch {
	case r.Method != http.MethodPost || err != nil || key == "":
		http.Error(w, "a POST of JSON with an Idempotency-Key is wanted", http.StatusBadRequest)
		return
	case r.Header.Get("Authorization") == "":
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	case again && !bytes.Equal(before, body):
		http.Error(w, "another request had this key", http.StatusUnprocessableEntity)
		return
	case !again:
		in.bodies[key] = body
		in.rows += len(rows)
	}
	fmt.Printf("host: %d rows, taken before: %t; %d rows in all\n", len(rows), again, in.rows)
	w.WriteHeader(http.StatusNoContent)
}
