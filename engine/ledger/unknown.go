package ledger

import "github.com/ubunye-io/ubunye/engine/store"

// unknown holds the members of a JSON object that this program does not know.
type unknown = store.Unknown

func decodeKeeping(data []byte, into any) (unknown, error) { return store.DecodeKeeping(data, into) }

func encodeKeeping(from any, extra unknown) ([]byte, error) { return store.EncodeKeeping(from, extra) }
