//go:build !unix

package ledger

// writable knows nothing here: rights are found out by trying.
func writable(string) error { return nil }
