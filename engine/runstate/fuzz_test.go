package runstate

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"
)

// Whatever a file holds, reading it never panics; and what is understood is written so that it reads the same.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		f.Add(golden(f, filepath.Base(file)))
	}
	f.Add([]byte(`{"engine":"ubunye","runStateFormatVersion":8,"appConfig":{"applicationName":"a","variables":null,"selectedActions":[]},"runId":1,"attemptId":1,` +
		`"actionsState":{"t":{"executionId":null,"state":"X","results":[null],"inputs":null,"dataObjectsState":[{"dataObjectId":"o","state":null}]}},` +
		`"isFinal":null,"accepted":null,"otherDataObjectsState":{"x":null},"ubunyeVersionInfo":{"version":"1","more":{"<":1e400}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := decode("p", data, time.UTC)
		if err != nil {
			return
		}
		folder := &Folder{Version: "1"}
		first, err := folder.encode(d)
		if err != nil {
			t.Fatalf("it is read and cannot be written: %v", err)
		}
		again, err := decode("p", first, time.UTC)
		if err != nil {
			t.Fatalf("it cannot be read again: %v\n%s", err, first)
		}
		if second, err := folder.encode(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("it is\n%s\nand then\n%s\n%v", first, second, err)
		}
	})
}
