// Package ledger makes a rerun safe. It answers three questions, and nothing else does: who may write
// a batch now, which files are a run's, and whether the batch is done.
//
// A batch is a task with all its variables and the profile. Each batch has one document, kept by
// package store and changed only by compare-and-swap. Files are staged where no reader looks; one save
// commits; only then does anything become visible. After a crash, work is redone from the document's
// to-do list and never undone.
//
// # A run, save by save
//
//	step      what the save changes                                  a crash after it leaves
//	Begin     (no document) the run's record and heartbeat           a record that later starts look through
//	Acquire   holder = this run, epoch + 1                           a holder that the next start judges
//	(drain)   todo = [], after doing what earlier runs left          the same
//	Prepare   outputs: class, base, staging folder                   the same, and a staging folder that the
//	                                                                 document names, whether it was made or not
//	Commit    finished = this run, todo += land its files,           a committed batch with a list; the next
//	          remove those it replaces, holder = nobody              start of the pipeline carries it out
//	Land      todo = [], after landing, _SUCCESS and removing        nothing
//	Fail      todo += drop its staging, tried, holder = nobody;      a list; the next start carries it out
//	          then todo = [], after dropping
//	Release   holder = nobody                                        nothing
//	End       (no document) record and heartbeat removed             nothing
//
// Commit is the one point at which the batch becomes the run's. A crash before it leaves nothing
// visible, a crash after it nothing undone. (drain) is a part of Acquire and happens only if there is
// something to do.
//
// # What holds
//
//	I1  no appended file of a batch is visible before its document says committed     Commit, Land
//	I2  every change of a document is one compare-and-swap; a run that loses one      Lease.save, Lease.lost
//	    writes nothing more
//	I3  what became visible is never taken back, except by a committed rerun: old     Ledger.carry
//	    files go after the new ones are there
//	I4  a batch is committed exactly when its document says so                        Commit
//	I5  what is found in staging counts, not what a writer reports                    Lease.Staged, Commit
//	I6  a kill at any instant leaves a state that the next start finishes             FinishCommitted
//	I7  a file that exists and cannot be read is never taken for absent               UnreadableError
//	I8  nothing is deleted while an outcome is unknown                                Lease.unknown, Fail
//
// A save has four outcomes. It counted. It certainly did not happen (*SaveError): the lease is as it
// was and may be failed or released. Somebody else changed the document: if that still names this run
// in this epoch the same change is made again, otherwise the lease is lost (*LostError). Or nobody
// knows (*UnknownError): the run touches nothing more, and what became of the save is in the document.
//
// # The to-do list
//
// Every entry may be carried out any number of times and by several processes at once: file names hold
// a fresh UUID and are never used again, and a rename happens once. Names are resolved each time. A
// list of which nothing is found proves nothing (an empty mount point, another machine's disk) unless
// the output folder's _ubunye-target file has the id that the entry names: then absent is absent. What
// cannot be carried out stays on the list and refuses its own batch.
//
// # In the ledger's folder
//
//	id                                      a random id, made with the ledger
//	batches/<pipeline>/<task>/<key>/        the generations of a batch's document
//	runs/<run>.json, runs/<run>.beat        a run's record and its heartbeat, of which only the time counts
//	staging/<run>/<key>/<output>/           staged files, <final name>.staged, and a marker
//	tmp/                                    files that have no name of their own yet
//
// # Not yet
//
// Judging and taking over the dead (a dead holder is refused like a live one), outputs with a commit of
// their own (replaced folders, tables, databases) and incremental ranges. The document has their
// fields, and what other programs put there survives.
//
// # Reading the source
//
// ledger.go opens and looks. run.go and record.go begin and end a run, heart.go keeps it alive.
// acquire.go, prepare.go, commit.go are the steps of a lease; lease.go is how a lease saves, loses and
// fails. carry.go carries out lists, target.go tells the right disk, finish.go does it for others.
package ledger
