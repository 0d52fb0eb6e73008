/* A keyed table (Delta): one batch, its epochs and pending files. What of it is the ledger's and what the writer's is
   in README.md.

   RUNS starts want the batch; another program may take a version of the table at any time. Data files are moved
   into the table first, where no entry of its log names them; one put-if-absent of the next entry makes them live.
   It carries the batch and the epoch. Each run is at any moment paused for as long as it likes, also between its
   look at the log and its put; one that never moves again has crashed. A holder may be judged dead at any moment
   though it is only paused, and the answer to a put may be lost. The last run is the next clean one.

   configuration: RUNS=3 ONCE
   configuration: RUNS=3 RERUN
   configuration: RUNS=3 REPLACES
   fault: EPOCH_NOT_RAISED RUNS=3 REPLACES
          the entry carries the same number in every run of the batch, so that nothing fences
   fault: LOOK_ONCE RUNS=3 ONCE
          after a lost race for a version the log is not looked at again
   fault: PENDING_DROPPED RUNS=3 ONCE
          a takeover removes what a dead run had moved into the table
   fault: TRIED_AND_DROPPED RUNS=3 ONCE
          a run that fails removes its files though it has tried to commit
   fault: UNKNOWN_IS_FAILURE RUNS=3 ONCE
          an answer that is lost is taken for a commit that did not happen
   fault: ONLY_NEWEST_LIVES RUNS=3 REPLACES
          of pending files all go but those of the newest entry                                                   */

#include "situation.h"

#define LAST    (RUNS-1)
#define NOBODY  255
#define OTHER   254                 /* the other program */
#define BIT(r)  (1 << (r))
#define VERSIONS 4               /* each run at most one, the other program one */

/* The document. */
byte gen = 0, epoch = 0, finishedEpoch = 0;
byte holder = NOBODY, finished = NOBODY;
bit  committing = 0;                /* phase: files may be in the table, and an entry in its log */
byte pending = 0, toRemove = 0;     /* runs whose files may be named yet; whose files go */

/* The table. */
byte files = 0;                     /* runs whose files lie in it */
byte entry[VERSIONS], number[VERSIONS], versions = 0;     /* whose, with which epoch */

/* For the checks only. */
byte named = 0;                     /* runs that the log has ever named */
bit  closed = 0, clean = 0;

#define SAVE(change) if :: gen == base -> gen++; base = gen; change :: else -> goto lost fi

inline REMOVE() {
  do
  :: remove != 0 ->
     atomic {
       who = (remove & 1 -> 0 : (remove & 2 -> 1 : 2));
       CHECK("what the log has named is never removed", !(named & BIT(who)));
       files = files & ~BIT(who); remove = remove & ~BIT(who); who = 0
     }
  :: remove == 0 -> break
  od
}

/* The log as it is now: the newest entry of this batch. */
#define LOOK seen = versions; found = NOBODY; at = 0; who = 0; \
             do :: who < seen -> if :: entry[who] != OTHER -> found = entry[who]; at = number[who] :: else fi; who++ \
                :: else -> who = 0; break od

proctype Run(byte me) {
  byte base, old, mine, before, remove, who, seen, found, at;
  bit tried;

take:
  atomic {
    if :: me != LAST && closed -> goto over :: else fi;
    if :: me == LAST -> closed = 1 :: else fi;
    old = holder;
    if :: old != NOBODY && me != LAST -> if :: goto over :: true fi :: else fi;        /* HeldError, or judged dead */
    if
    :: finished != NOBODY && old == NOBODY ->
#ifdef RERUN
       skip
#endif
#ifdef ONCE
       SITUATION("a finished batch is refused"); if :: me == LAST -> clean = 1 :: else fi; goto over
#endif
#ifdef REPLACES
       skip
#endif
    :: else
    fi;
    gen++; base = gen; holder = me;
#ifdef EPOCH_NOT_RAISED
    epoch = 1;
#else
    epoch++;
#endif
    mine = epoch; before = finishedEpoch;
    if
    :: old != NOBODY && committing ->
#ifdef PENDING_DROPPED
       toRemove = toRemove | BIT(old)
#else
       pending = pending | BIT(old); SITUATION("files of a run that may have committed are pending")
#endif
    :: else
    fi;
    committing = 0; old = 0; remove = toRemove
  };
  REMOVE();
  atomic { SAVE(toRemove = 0) };
#ifdef ONCE
  if :: finished != NOBODY -> goto release :: else fi;
#endif

  atomic { SAVE(committing = 1) };
  files = files | BIT(me);
  if :: me != LAST -> goto fail :: true fi;
look:
  atomic {
    LOOK;
    if
    :: found == me -> SITUATION("a lost answer is read back"); goto commit
#ifndef EPOCH_NOT_RAISED
    :: found != me && found != NOBODY && at >= mine -> SITUATION("a run is fenced by a higher epoch"); goto lost
#endif
#ifndef REPLACES
    :: found != me && found != NOBODY && at < mine && at > before ->
       SITUATION("the commit of a dead run is found, and is the batch's"); goto commit
#endif
    :: else
    fi
  };
put:
  atomic {
    tried = 1;
    if
    :: seen == versions ->
       CHECK("an entry names files that are there", files & BIT(me));
       entry[versions] = me; number[versions] = mine; versions++; named = named | BIT(me); found = me
    :: else ->
#ifdef LOOK_ONCE
       seen = versions; goto put
#else
       SITUATION("a race for a version is lost"); goto look
#endif
    fi
  };
  if
  :: true                                                                              /* the answer arrives */
#ifdef UNKNOWN_IS_FAILURE
  :: me != LAST -> tried = 0; goto fail
#else
  :: me != LAST -> goto look                                                           /* it is lost */
#endif
  fi;
  if :: me != LAST -> goto fail :: true fi;                                            /* another output of the task fails */

commit:
  atomic {
    SAVE(finished = found; finishedEpoch = mine; holder = NOBODY; committing = 0;
         toRemove = toRemove | pending | (found == me -> 0 : BIT(me)); pending = 0);
#ifdef ONLY_NEWEST_LIVES
    toRemove = toRemove & ~BIT(finished);
#else
    toRemove = toRemove & ~named;                  /* what the log has ever named is the table's */
#endif
    remove = toRemove;
    if :: me == LAST -> clean = 1 :: else fi
  };
  goto mop;
fail:
  atomic {
#ifdef TRIED_AND_DROPPED
    SAVE(toRemove = toRemove | BIT(me); holder = NOBODY; committing = 0);
#else
    SAVE(if :: tried -> pending = pending | BIT(me); SITUATION("a run that fails after it has tried leaves its files pending")
            :: else -> toRemove = toRemove | BIT(me) fi;
         holder = NOBODY; committing = 0);
#endif
    remove = toRemove
  };
mop:
  REMOVE();
  atomic { if :: gen == base -> gen++; toRemove = 0 :: else fi };
  goto over;
release:
  atomic { SAVE(holder = NOBODY); if :: me == LAST -> clean = 1 :: else fi };
  goto over;
lost:
  CHECK("the last run loses nothing", me != LAST);
over:
  base = 0; old = 0; mine = 0; before = 0; remove = 0; who = 0; seen = 0; found = 0; at = 0; tried = 0
}

proctype Other() { atomic { entry[versions] = OTHER; versions++ } }

#define OURS(v) (versions > (v) && entry[v] != OTHER -> 1 : 0)
#define COUNT   (OURS(0) + OURS(1) + OURS(2) + OURS(3))
#define NEWEST  (OURS(3) -> entry[3] : (OURS(2) -> entry[2] : (OURS(1) -> entry[1] : entry[0])))

active proctype Watch() {
end:
  if
#ifdef ONCE
  :: atomic { COUNT > 1 -> CHECK("the table has the batch once", false) }
#endif
#ifdef REPLACES
  :: atomic { clean && COUNT > 0 && NEWEST != finished -> CHECK("the table shows what the ledger says", false) }
#endif
  :: atomic { clean && (finished == NOBODY || !(named & BIT(finished))) -> CHECK("what is finished is in the log", false) }
  :: atomic { named & ~files -> CHECK("what the log names is there", false) }
  fi
}

init {
  byte i = 0;
  atomic { do :: i < RUNS -> run Run(i); i++ :: else -> break od; run Other(); i = 0 }
}
