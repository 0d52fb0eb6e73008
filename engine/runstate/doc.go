// Package runstate keeps how far the runs of a pipeline got, so that the next start finishes an unfinished one instead of
// doing all of it again. It follows the run state of Smart Data Lake Builder (SDLB), whose users know it, reads all of its
// formats, and goes on with its numbers.
//
// The ledger proves that a batch lands once; run state is a report beside it. Where the two differ the ledger wins, and the
// report is mended. This package does not know the ledger: what that says of a task comes in as Task.Commit, and whether a
// run is alive as Folder.Alive.
//
// # A start
//
//	Look     what there is: the latest run with the same variables and profile, and other unfinished ones
//	Decide   pure: a new run, the next attempt of an unfinished one, or a refusal
//	         (the leases of the tasks that will run are taken, then Look again: changed → Decide again)
//	Create   takes the number and writes the first document, all tasks pending but those that are carried over
//	Save     after every change
//	Finish   the attempt has ended; of a run that succeeded the files move to succeeded/
//
// A refused start writes nothing.
//
// # In the folder
//
//	current/<app>.<runId>.<attemptId>.json     running, and not finished successfully
//	succeeded/<app>.<runId>.<attemptId>.json   finished, or accepted by a person
//	succeeded/<name>.damaged                   a file that could not be read, when its run was accepted
//	index.json                                 one line for each run that ended, if it is asked for
//	.latest/<app>.json                         a hint: the newest number
//	.latest/<app>/<key>.json                   a hint: the newest number of runs with the same variables and profile
//	.tmp/                                      files that have no name of their own yet
//	backup-<time>/                             the originals of what Migrate has replaced
//
// Only names of the first two forms are read in current/ and succeeded/; files of other tools are left alone. current/ is
// listed at every start, and what is in it is read; succeeded/, which may hold very many, only if a hint is missing that must
// be there or names no file. A hint says a number, and the file of that number is looked for in both folders, so a plain mv
// from one to the other counts: it means accepting.
//
// # A kill leaves
//
//	before a document is linked     nothing that counts: the number is free
//	after it                        a run in current/, which the next start goes on with
//	between two saves               a document that lags behind; the ledger tells what was committed
//	in a move to succeeded/         a final document in current/, the newest of its run: the next start finishes the move
//	in a migration                  files of old and of new form: both are read; every original is in a backup, or in place
//
// # Reading the source
//
// document.go and codec.go are the document. look.go finds, decide.go and carry.go decide, begin.go makes the first document of
// an attempt, run.go writes. upcast.go brings old formats to this one, a function a step; migrate.go does it to whole folders.
// accept.go, list.go and index.go do what a person asks for. python.go reads what the Python program Ubunye left.
package runstate
