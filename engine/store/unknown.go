package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Unknown holds the members of a JSON object that this program does not know: written by a newer
// one, they survive being read and written here.
type Unknown map[string]json.RawMessage

// DecodeKeeping fills the struct that into points to from a JSON object. Members are matched by their
// exact names (encoding/json ignores case); the others are returned.
func DecodeKeeping(data []byte, into any) (Unknown, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if err := decodeMembers(members, reflect.ValueOf(into).Elem()); err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, nil
	}
	return members, nil
}

// EncodeKeeping is the way back; from must be a struct without methods of its own.
func EncodeKeeping(from any, extra Unknown) ([]byte, error) {
	data, err := marshal(from)
	if err != nil || len(extra) == 0 {
		return data, err
	}
	more, err := marshal(extra)
	if err != nil {
		return nil, err
	}
	data = data[:len(data)-1]
	if len(data) > 1 {
		data = append(data, ',')
	}
	return append(data, more[1:]...), nil
}

// marshal leaves it to the caller's encoder whether what HTML could take for its own is escaped.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte{'\n'}), err
}

// decodeMembers takes the members that v has fields for out of members.
func decodeMembers(members map[string]json.RawMessage, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			if err := decodeMembers(members, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, there := members[name]
		if name == "" || !there {
			continue
		}
		if err := json.Unmarshal(value, v.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
		delete(members, name)
	}
	return nil
}
