// Package deltalog reads and writes the transaction log of Delta tables (github.com/delta-io/delta, PROTOCOL.md; "the
// protocol" below). It decides what a version of a table is and what a commit holds; it has no file system, no clock and no
// Parquet reader of its own: the caller's Storage has. So the same code runs in the engine and in a plugin.
//
// It uses the standard library only, and of that what keeps a plugin small: no encoding/json, no fmt.
//
// # Reading the source
//
//  1. snapshot.go: which checkpoint and commits make a version, and what is read of them.
//  2. replay.go: which files are live.
//  3. features.go: what a table may ask of a reader and a writer, and what of it we do.
//  4. commit.go, conflict.go, checkpoint.go: what is written.
//
// # Rules
//
//   - A table is never shorter than its log says: a commit that is missing between others is a *HoleError that names its
//     version, and a line that cannot be read a *DamagedError that names file and line.
//   - What is not known is ignored where the protocol says that it may be (actions, members), and refused by its name where
//     it says that it must be (features, types).
//   - No integer passes through floating point.
package deltalog
