package abi

import "errors"

// JSON is a value that is JSON already. In a module it is a type of its own that does the same as
// encoding/json's RawMessage: a module that has no other need of that package is smaller without it by a third,
// and starts so much faster.
type JSON []byte

// MarshalJSON gives the value.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON takes the value.
func (j *JSON) UnmarshalJSON(data []byte) error {
	if j == nil {
		return errors.New("abi.JSON: UnmarshalJSON on nil pointer")
	}
	*j = append((*j)[:0], data...)
	return nil
}
