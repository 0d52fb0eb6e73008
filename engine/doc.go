// Package engine is the flow of one run: it loads a pipeline, holds its batches, makes their rows,
// lets the writers stage them, commits each batch with one save, and makes it visible. Everything else
// is done by the packages it composes; they know nothing of each other.
//
// # Reading the source
//
//  1. batch.go: the path of one batch, a call a step.
//     table.go: outputs whose writers make commits of their own; targetfiles.go: what such a writer may do to its target.
//     checks.go: its data checks.
//     incremental.go: what of its inputs is new, and pinned before it is read.
//     databases.go: inputs that are tables and queries of databases.
//  2. run.go: one start of the program: lease.go takes all batches first, decide.go tells which tasks an
//     unfinished run has left, schedule.go runs them, keeper.go writes down how far they are.
//  3. backfill.go: a run for each date of a range that is missing.
//  4. explain.go: what a person is told, made of the typed errors of the packages below.
//  5. ledger/doc.go: what a crash at each step leaves.
//
// # Invariants
//
// They are quoted where they are upheld, and each has tests of its name (TestI3_…).
//
//   - I1: no appended file of a batch is visible before its document says committed.
//   - I2: every change of a document is one compare-and-swap; a run that loses one writes nothing more.
//   - I3: what became visible is never taken back, except by a committed --rerun.
//   - I4: a batch is committed exactly when its document says so; a target with its own commit is
//     resolved by its key, never guessed.
//   - I5: the engine believes what it finds in staging, not what a plugin reports.
//   - I6: SIGKILL at any instant leaves a state that the next start finishes without help.
//   - I7: a file that exists and cannot be read is never taken for absent.
//   - I8: nothing is deleted while an outcome is unknown.
package engine
