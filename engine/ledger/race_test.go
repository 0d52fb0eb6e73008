//go:build race

package ledger

// stopsEvery is of how many operations one is stopped at. The race detector makes a stop five times as slow and learns nothing
// new from each: what it sees is drawn, and make test plays all of them without it.
const stopsEvery = 5
