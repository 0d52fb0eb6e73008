package ledger

import (
	"fmt"
	"strings"
)

// checkName refuses what cannot be one element of a path.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") || len(name) > 255 {
		return fmt.Errorf("%q cannot be used as a file name", name)
	}
	return nil
}
