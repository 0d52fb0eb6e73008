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
//	Begin     (no document) the run's record, asking, and heartbeat  a record, which the next start removes
//	Acquire   holder = this run, epoch + 1; and if a dead run held   a holder that the next start takes over; the
//	          it: todo += drop its staging, pending += the tables    dead run's staging is on the list, and its
//	          that it may have committed to, tried += it             record is mended by the next start
//	(drain)   todo = [], after doing what earlier runs left; tried   the same
//	          names what a dead run was found to have replaced
//	(settle)  (documents of other batches) as Acquire and drain,     the same, for a batch that nobody asked for
//	          then holder = nobody: of dead runs that are in the way
//	(enter)   (no document) the record says running, after no run    the same
//	          was found that excludes this one
//	(mend)    (no document) records of dead runs say interrupted     a record that the next start mends
//	          and by whom, or landed, or are removed
//	Pin       range: what an incremental batch is to read            the range, which the next run of the batch
//	                                                                 reads
//	Prepare   outputs: class, base, staging folder; and the epoch,   the same, and a staging folder that the
//	          if a table holds a higher one                          document names, whether it was made or not
//	Commit-   phase: committing, with the names; then the staged     files in a table's folder that no log names, or
//	 Tables   files are moved into the tables, and these commit;     a commit of which the document says nothing:
//	          then phase: done                                       pending, until a later run of the batch looks
//	Replace   phase: committing, with the names and folders; then    a folder that is the old one or the new one:
//	          the exchanges; then phase: done                        the staging's grab and the marker tell which
//	Commit    finished = this run, with the range, todo += land its  a committed batch with a list; the next
//	          files, drop the old data, remove what it replaces,     start of the pipeline carries it out
//	          holder = nobody; pending = what could not be
//	          resolved, todo += remove what no table has named of
//	          the rest
//	Import    (instead of Prepare to Land) finished = what another   a finished batch; a record, which the next start
//	          program did, claims = the files that are there         mends
//	Land      todo = [], after landing, _SUCCESS and removing        a record, which then says landed
//	Fail      todo += drop its staging, pending += the tables that   a list; the next start carries it out
//	          it may have committed to, tried, holder = nobody;
//	          then todo = [], after dropping
//	Release   holder = nobody                                        a record, which the next start removes
//	End       (no document) record and heartbeat removed             nothing
//
// A save is one link: a crash within it leaves what the row above leaves, or what its own does. A crash between two
// saves leaves what the first one leaves, and a part of the work that the second one's row names as done by then.
// Commit is the one point at which the batch becomes the run's. A crash before it leaves no appended file
// visible, a crash after it nothing undone. (drain), (settle), (enter) and (mend) are parts of Acquire; all but
// (enter) happen only if there is something to do, CommitTables only if an output's target has a commit of its own,
// and Replace only if one replaces folders.
//
// A record that says interrupted or failed is kept for 30 days, and what status tells is all that it is for. One that
// says landed, or of a dead run that it runs, means that nobody was told of its commit: the next start of the
// batch may count it as done, see Untold. End removes the heartbeat first, so that a crash never leaves one
// without a record; where a hand does, nobody knows what its run writes, and every start is refused until it is
// older than the timeout.
//
// # Alive or dead
//
// judge.go has the four ways in which a run is dead. A run that has certainly ended is taken over at once; one
// whose heartbeat is only too old is watched first: see wait.go. It is taken over where it holds a batch that is
// asked for, or writes to a folder that one of the two replaces; after one that has certainly ended, every start
// cleans up. Judging wrongly is safe. A run that wakes up after it was taken over finds another
// epoch at its next save, and its staging gone: what it does below its old name fails, an exchange too. Its own
// context ends half a timeout after its last heartbeat that succeeded: before anybody may judge it dead.
//
// What a paused run may still make when it wakes up is a staging folder that had not been there when it was
// dropped. No document names it; Recover removes it when its run is dead.
//
// # Replacing folders
//
// The new folder is staged whole: below staging/ in the ledger or, where nothing can be moved from there,
// in .<12 hex>.ubunye/ beside the output; in it, as _ubunye-<12 hex>/, only if a disk is mounted there. It gets the owner, mode, access lists and label of
// the old one before anything is made in it; then files under their final names, the target file, and a
// marker, which has a name of its own for each output of each run. One exchange puts it in place, and the
// old data where it was staged.
//
//	a run dies or is paused            the output     below its staging          whoever grabs the staging
//	before its exchange                old            new/ with the marker       removes new/
//	after it                           new            new/ is the old data       removes it; the output is kept, and named
//	(two renames:) between them        missing        old/, and new/ with it     puts old/ back, removes new/
//	(two renames:) after them          new            old/                       removes it; as above
//	after its commit                   new            new/ or old/ is old data   removes it
//	and a power cut undid the exchange old            new/ with the marker       leaves it, and says so
//
// A folder that cannot itself be renamed (a disk is mounted there: EBUSY; it lies in a lower layer of an
// overlay: EXDEV) stays, and what is in it is moved, name by name, by a list that is saved before the first
// one. Readers can see a part of the old entries or of the new ones meanwhile. What others put there
// after the list was saved is put on it, by another save, and goes too, until nothing is left; then the new
// entries come; when all names are durable the marker does, which is the moment. _SUCCESS goes first, and
// comes after the commit. Not moved are _ubunye-target, staging folders, lost+found and hidden names.
//
//	a run dies or is paused            the output     below its staging          whoever grabs the staging
//	before its first move              old            new/ with the marker       removes it
//	between two moves                  part of either old/, new/ with the marker takes the new entries out and puts the
//	                                                                             old ones back, by the list
//	after the marker was moved         new            old/                       removes it; the output is kept, and named
//	after its commit                   new            old/                       removes it
//	and a power cut undid the moves    part of either new/ with the marker       leaves it, and says so
//	and the marker is in both, or in neither                                     leaves it, and says so
//
// So here, and only here, something is taken back that readers may have seen: never a whole result. Moves
// back go by name and never replace, and what is left is removed under a third name, <staging>.gone: a
// process that comes late finds neither the place to put something nor anything to put back. A
// stranger's entry in the way of an old one stays, and so does the list, until somebody makes room.
//
// The grab is a rename of the staging folder to <staging>.drop: exchanges go by name, so an owner that wakes
// up later makes none. The verdict is looked for in the output, by the marker, because what was grabbed
// may be half removed by another process. Nothing is ever exchanged back (I3).
//
// What is kept so is named until a run of the batch commits; a run of it that only adds to that output, under
// whatever name, is refused, as its rows are there.
//
// A run that replaces a folder and any other run that writes to it exclude each other; two that replace
// folders in one do not. See exclude.go.
//
// # Tables
//
// A table with a log, and one in a database, has a commit of its own, which its writer makes: see Table. A file
// in a table's folder that its log does not name is seen by nobody, so that files are moved there first; the commit
// carries the batch's key and the epoch, and that is how every later run finds it. Whether a table holds the batch is
// asked of the table alone.
//
//	a run dies or is paused            in the table                     whoever takes over         the next run of the batch that commits
//	before phase: committing           nothing                          drops the staging
//	before all files are moved         some files                       drops the staging: the     removes the files, as the log has
//	                                                                    others cannot be moved     never named them
//	before its commit                  all files                        notes them as pending      the same; the paused one is fenced
//	after it                           files that the log names         the same                   once: commits nothing, and says what it
//	                                                                                               found; replaces: replaces them; either
//	                                                                                               way they stay for ever
//	after the batch's commit           the same                         drops what is left of the
//	                                                                    staging, which is empty
//
// The fence is the epoch. A writer commits only at the place in the log after the last one that it has looked at, and nothing
// if it found its batch there with its own epoch or a higher one. So once the next run's commit is in the log, or
// one that this run has found, no dead run of the batch can make one any more (but for a later one that would have replaced
// what was found, if the mode was another then: it stays pending): only then is the table asked which of their files
// it has ever named, and only those go that it has not (I8). It is also asked for the keys of pending entries, and its commit
// carries them, because the output may have had another name then. An entry that cannot be resolved (the table does not
// answer; the task does not write to it any more) stays, is named by Status and by every start, and hinders nothing;
// Forget gives it up. Of class named nothing is ever removed.
//
// A lease whose commit nobody can tell of ends there, without another change: its batch is taken over like that of any
// run that has ended. Durability: fast does not count for what a log is to name: a table of which a named file is missing
// cannot be read at all.
//
// # Incremental batches
//
// An incremental batch reads what it had not read. Its range, which the ledger compares and does not look into, is pinned before
// it is read, and the commit moves it to finished.range, which is the mark: what was read and what is there are one save. Whoever
// comes after a run that did not commit reads the pinned range. A commit whose range is that of the last one replaces that
// one's files, whichever flags its start had: so a rerun, which pins the last range again, and whatever follows it, leaves each
// slice once. A rerun is refused while another range is pinned.
//
//	a run dies                  pinned         finished.range   what the next start reads
//	before Pin                  nothing        last             what is new after last, or after the marks that a person set
//	after Pin                   new            last             new, and adds it
//	after Pin, of a rerun       last           last             last, and replaces it
//	after Commit                nothing        new              what is new after new
//
// # What holds
//
//	I1  no appended file of a batch is visible before its document says committed     Commit, Land
//	I2  every change of a document is one compare-and-swap; a run that loses one      Lease.save, Lease.lost
//	    writes nothing more, and exchanges nothing
//	I3  what became visible is never taken back, except by a committed rerun: old     Ledger.carry, Replace,
//	    files go after the new ones are there, and no exchange is undone; a part of   work.lookInside
//	    a result, where entries are moved, is no result
//	I4  a batch is committed exactly when its document says so; whether a folder was  Commit, work.lookInside,
//	    replaced before that is told by its marker, what a table holds by its log,    CommitTables
//	    never guessed
//	I5  what is found in staging counts, not what a writer reports                    Lease.Staged, Commit
//	I6  a kill at any instant leaves a state that the next start finishes             Acquire, FinishCommitted
//	I7  a file that exists and cannot be read is never taken for absent               UnreadableError, exclusion.look
//	I8  nothing is deleted while an outcome is unknown                                Lease.unknown, Fail,
//	                                                                                  Lease.settlePending
//
// A save has four outcomes. It counted. It certainly did not happen (*SaveError): the lease is as it
// was and may be failed or released. Somebody else changed the document: if that still names this run
// in this epoch the same change is made again, otherwise the lease is lost (*LostError). Or nobody
// knows (*UnknownError): the run touches nothing more, and what became of the save is in the document. A
// document that was deleted under its holder is not made again: see Lease.stillThere.
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
//	staging/<run>/<key>/<output>/           staged files, <final name>.staged, and a marker; of an output
//	                                        that replaces folders new/, and perhaps old/
//	shapes/<pipeline>/<task>.json           the columns that the task's inputs had in its last commit; of a
//	                                        profile, <task>.<profile>.json. Advice: the documents say the same
//	tmp/                                    files that have no name of their own yet
//
// Three things that a killed run leaves are named by no document and are nobody's data: the probe by which
// it tried a file system, a file in tmp/, and what was spilled beside memory. Every run that holds its batches removes them, and Recover the first two: a
// probe, whose name its record gives, when that run has certainly ended; a file in tmp/ when it is older
// than the timeout by the disk's clock; spilled rows, whose folder names ledger and run, when the run has ended.
// A staging folder that no document names is not among them: status names it.
//
// What a newer program staged for a class that is not known here survives, as pending.
//
// # Reading the source
//
// ledger.go opens and looks. run.go and record.go begin and end a run, heart.go keeps it alive, judge.go and
// identity.go tell whether another one lives. acquire.go, takeover.go, exclude.go, prepare.go, table.go, replace.go, commit.go
// are the steps of a lease, pin.go what incremental batches read; lease.go is how a lease saves, loses and fails, wait.go how a start waits. parts.go
// chooses the folders that are replaced and where they are staged. carry.go carries out lists, grab.go their part
// about replaced folders, moved.go what is in folders that stay, target.go tells the right disk, finish.go does it for others, cleanup.go mends records, leftovers.go removes what no
// document names.
// recover.go and setaside.go do what a person asks for. durable.go says what is synced, and
// why. exists.go tells whether there is data. shapes.go keeps what inputs looked like. model/README.md: what of this was proved with a model checker, step by
// step.
package ledger
