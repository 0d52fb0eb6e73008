//go:build !wasip1

package abi

import "encoding/json"

// JSON is a value that is JSON already.
type JSON = json.RawMessage
