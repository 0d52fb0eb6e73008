//go:build !race

package ledger

const stopsEvery = 1 // see race_test.go
