package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// keepAncestors is how far back a document knows its versions. A saver that was asleep while more
// than these were made cannot learn whether its save counted.
const keepAncestors = 64

// envelope is what the store adds to a document.
type envelope struct {
	Format    int        `json:"format"`    // number of the form of the document; programs refuse a higher one than they know
	ID        string     `json:"id"`        // random; no two saves share one
	Ancestors []Ancestor `json:"ancestors"` // the saves before this one, newest first, at most 64
}

// seal puts the envelope in front of the members of doc, which must be one JSON object.
func seal(doc []byte, e envelope) ([]byte, error) {
	doc = bytes.TrimSpace(doc)
	if !json.Valid(doc) || doc[0] != '{' {
		return nil, errors.New("a document must be one JSON object")
	}
	head, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSpace(doc[1:])
	out := head[:len(head)-1]
	if body[0] != '}' {
		out = append(out, ',')
	}
	return append(append(out, body...), '\n'), nil
}

// unseal takes the envelope off. Members are matched by their exact names, and whatever else the
// document has comes back as it was, in its order.
func unseal(data []byte, maxFormat int) ([]byte, envelope, error) {
	var e envelope
	if len(data) == 0 {
		return nil, e, errors.New("it is empty")
	}
	if !json.Valid(data) {
		return nil, e, errors.New("it is damaged (not JSON)")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, e, errors.New("it is not a JSON object")
	}
	into := map[string]any{"format": &e.Format, "id": &e.ID, "ancestors": &e.Ancestors}
	body := []byte{'{'}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, e, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, e, err
		}
		if field, ours := into[key.(string)]; ours {
			if err := json.Unmarshal(value, field); err != nil {
				return nil, e, fmt.Errorf("its member %s has another shape", key)
			}
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, e, err
		}
		body = append(append(append(body, name...), ':'), value...)
	}
	if _, err := dec.Token(); err != nil && err != io.EOF {
		return nil, e, err
	}
	switch {
	case e.Format > maxFormat:
		return nil, e, fmt.Errorf("it has format %d, and this program knows formats up to %d", e.Format, maxFormat)
	case e.Format < 1:
		return nil, e, errors.New("it has no format number")
	case e.ID == "":
		return nil, e, errors.New("it has no id")
	}
	return append(body, '}'), e, nil
}
