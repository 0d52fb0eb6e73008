// Package delta is the writer of Delta tables. The engine encodes and places the files; what is decided here is which files
// and rows are in the table: by commits to its log, which package deltalog reads and writes.
//
// # Reading the source
//
//  1. writer.go, plan.go: what an output may ask for, looked at before any input is read.
//  2. stage.go: the rows as the table's columns, checked, and written as files that nobody reads. columns.go fits columns,
//     rows.go checks rows, merge.go and replace.go add the rows that stay of files that go.
//  3. commit.go: the commit: who has committed the batch (batch.go), what others have done since (others.go), which files come
//     and go (actions.go), and the answer that was lost. checkpoint.go follows.
//  4. resolve.go: what the log holds of a batch.
//
// # Rules
//
//   - An append reads the protocol, the metadata and its own txn. The list of files is read only by what replaces.
//   - A commit is a file that is made only if nobody has made it. Whatever else is said of it than that it was made or not, the
//     log is read.
//   - No file is ever removed here, and none of another writer.
package delta
