/* The append path of one named batch (package ledger, class Claims), as README.md says.

   RUNS starts want the batch. Each is at any moment paused for as long as it likes; one that never moves
   again has crashed, so that a crash needs no steps of its own. A holder may be judged dead at any moment
   though it is only paused. The last run is the next clean one, by which everything must be right: it
   does not fail and nobody judges it. Once it has asked, no other run takes the batch any more, but those
   that sleep wake up, during it and after it.

   configuration: RUNS=3 PASSERS=0
   configuration: RUNS=2 PASSERS=2
   fault: LAND_BEFORE_COMMIT RUNS=2 PASSERS=2
          files become visible before the save that commits
   fault: LAND_COPIES RUNS=2 PASSERS=2
          landing copies, so that a list which is carried out twice lands twice
   fault: LOST_SAVE_GOES_ON RUNS=2 PASSERS=2
          a run whose save was refused goes on as if it still held the batch
   fault: UNKNOWN_IS_FAILURE RUNS=2 PASSERS=2
          who does not know whether its commit counted drops its staging
   fault: REMOVE_UNLANDED RUNS=2 PASSERS=2
          what a rerun replaces goes although its successor has not all landed
   fault: EMPTY_UNCOMPARED RUNS=2 PASSERS=2
          who empties a list does not compare: it may be another list by now
   fault: COMPLETED_UNLANDED RUNS=2 PASSERS=2
          a start counts a batch as done without landing what is left               */

#include "situation.h"

#define LAST      (RUNS-1)
#define NOBODY    255
#define BIT(r)    (1 << (r))
#define LOWEST(m) ((m) & 1 -> 0 : ((m) & 2 -> 1 : 2))
#define ALL       3                 /* both files of a run, as bits */
#define FOLDER    4                 /* its staging folder, as a bit of staged[] */

/* The document. Its to-do list is three sets of runs: whose files to land, whose to remove, whose
   staging to drop. */
byte gen = 0;
byte holder = NOBODY, finished = NOBODY;
bit  recorded = 0;                  /* outputs: the holder's staging folder is named */
byte toLand = 0, toRemove = 0, toDrop = 0;

/* The disk. */
byte staged[RUNS];                  /* FOLDER, and the files in it */
byte landed[RUNS];                  /* the files at their final names */
byte running = 0;                   /* whose record says running */

/* For the checks only. */
byte committed = 0;                 /* runs whose commit was ever the document */
byte whole = 0;                     /* runs of which all files have been visible */
bit  closed = 0, clean = 0;         /* the last run has asked; has ended well */

/* store.Load: it returns the newest version, as store.pml shows. */
#define LOAD base = gen; land = toLand; remove = toRemove; drop = toDrop

/* Lease.save. Somebody else changes a document without taking it only where nobody holds it, so a save
   of a holder that is refused is a lost lease. */
#ifdef LOST_SAVE_GOES_ON
#define SAVE(change) if :: gen == base -> gen++; base = gen; change \
                        :: gen != base && me != LAST -> base = gen; change \
                        :: gen != base && me == LAST -> goto lost fi
#else
#define SAVE(change) if :: gen == base -> gen++; base = gen; change :: else -> goto lost fi
#endif

/* work.landOne: a rename by name, without replacing. The name is gone: somebody else did it. */
#ifdef LAND_COPIES
#define MOVE(k,f) landed[k] = landed[k] | f; staged[k] = staged[k] & ~f; NOTE(k)
#else
#define MOVE(k,f) if :: staged[k] & f -> staged[k] = staged[k] & ~f; landed[k] = landed[k] | f; NOTE(k) \
                     :: else -> SITUATION("a file that somebody else had landed") fi
#endif
#define NOTE(k) if :: landed[k] == ALL -> whole = whole | BIT(k) :: else fi

/* Ledger.carry: land, then remove, then drop. land, remove and drop are the list as this process saw it;
   what is done is taken off them. What cannot be carried out (a name is taken, a folder may not be
   written) stays: the last run's disk is in order. */
inline CARRY(stubborn) {
  if
  :: land != 0 ->
     atomic { MOVE(LOWEST(land), 1) };
     if
     :: stubborn -> skip                                          /* an entry that cannot be carried out */
     :: true ->
        atomic { MOVE(LOWEST(land), 2) };
        atomic { staged[LOWEST(land)] = 0; land = 0; did = 1 }    /* Ledger.dropStaging */
     fi
  :: land == 0
  fi;
  if
#ifdef REMOVE_UNLANDED
  :: remove != 0 ->
#else
  :: remove != 0 && land == 0 ->
#endif
     landed[LOWEST(remove)] = landed[LOWEST(remove)] & ~1;
     atomic { landed[LOWEST(remove)] = 0; remove = 0; did = 1 }
  :: else
  fi;
  do
  :: drop != 0 -> atomic { staged[LOWEST(drop)] = 0; drop = drop & ~BIT(LOWEST(drop)); did = 1 }
  :: drop == 0 -> break
  od
}

/* carried.apply: what was done is taken off the document's list. */
#define APPLY toLand = land; toRemove = remove; toDrop = drop; did = 0

/* Ledger.empty: where nobody holds the batch. A conflict is no error: who changed the document saw the
   list, and does it too. */
#ifdef EMPTY_UNCOMPARED
#define EMPTY if :: did -> gen++; APPLY :: else fi
#else
#define EMPTY if :: did && gen == base -> gen++; APPLY \
                 :: did && gen != base -> SITUATION("a list that somebody else emptied, or took with the batch") \
                 :: !did fi
#endif

mtype = { complete, drain, land_, fail };      /* for what a list is carried out */

proctype Run(byte me) {
  byte base, land, remove, drop, old;
  bit did, rerun;
  mtype why;

  atomic { if :: rerun = 1 :: rerun = 0 fi; running = running | BIT(me) };   /* Ledger.Begin: the record */
look:
  atomic {
    if :: me != LAST && closed -> goto over :: else fi;
    LOAD; old = holder;
    if :: me == LAST -> closed = 1 :: else fi;
    if
    :: old != NOBODY && me != LAST -> goto refused                            /* HeldError */
    :: old != NOBODY || finished == NOBODY || rerun                           /* free, or its holder is judged dead */
    :: old == NOBODY && finished != NOBODY && !rerun ->
       if
       :: (running & BIT(finished)) ->                                        /* R30: it died before it could say so */
          old = finished; why = complete; SITUATION("a batch that a dead run had committed is completed");
#ifdef COMPLETED_UNLANDED
          goto completed
#else
          goto carry
#endif
       :: else -> SITUATION("a finished batch is refused"); goto refused      /* FinishedError */
       fi
    fi
  };
  atomic {                                                                    /* Run.take */
    if
    :: gen != base || (me != LAST && closed) -> old = 0; goto look
    :: else
    fi;
    gen++;
    if
    :: old != NOBODY && recorded -> toDrop = toDrop | BIT(old); SITUATION("takeover of a run that has staged")
    :: else
    fi;
    recorded = 0; holder = me; old = 0; why = drain;
    LOAD
  };
  if :: (land | remove | drop) != 0 -> goto carry :: else fi;
drained:
  atomic {
    if :: did -> SAVE(APPLY) :: else fi;
    if :: land != 0 || remove != 0 -> SITUATION("an entry that cannot be carried out"); goto release   /* LeftError */
       :: else fi;
    if :: finished != NOBODY && !rerun -> goto release :: else fi
  };

  atomic { SAVE(recorded = 1) };                                              /* Lease.Prepare */
  staged[me] = FOLDER;                                                        /* Lease.makeStaging */
  atomic {
    if :: staged[me] & FOLDER -> staged[me] = FOLDER | ALL
       :: else -> SITUATION("staging that was taken away from a live run"); goto failing fi
  };
  atomic {
    if :: me != LAST -> goto failing :: true fi;                              /* a check fails */
#ifdef LAND_BEFORE_COMMIT
    MOVE(me, 1)
#else
    if :: staged[me] == (FOLDER | ALL) :: else -> goto failing fi             /* Lease.lookUpAll */
#endif
  };
  atomic {                                                                    /* Lease.Commit */
    SAVE(if :: finished != NOBODY -> toRemove = toRemove | BIT(finished); SITUATION("a rerun replaces a batch")
            :: else fi;
         finished = me; holder = NOBODY; recorded = 0; toLand = toLand | BIT(me); committed = committed | BIT(me));
    LOAD; why = land_;
    if
    :: me != LAST                                                             /* the answer to the save is lost */
    :: goto carry
    fi
  };
#ifdef UNKNOWN_IS_FAILURE
  atomic { staged[me] = 0; goto over };
#endif
  atomic {                                                                    /* Ledger.settle */
    if
    :: gen == base -> gen++; base = gen; SITUATION("an unknown save that counted")
    :: else -> SITUATION("an unknown save that others have built upon"); goto over   /* nothing is touched (I8) */
    fi
  };
  goto carry;

failing:
  atomic {                                                                    /* Lease.Fail */
    SAVE(toDrop = toDrop | BIT(me); holder = NOBODY; recorded = 0);
    LOAD; why = fail
  };

carry:
  CARRY(me != LAST);
  if
  :: why == drain -> goto drained
  :: why != drain
  fi;
  atomic { EMPTY };                                                           /* Lease.mop */
  if
  :: why == fail -> goto refused
  :: why != fail && (land | remove) != 0 -> goto over                         /* NotAllLandedError */
  :: why == complete && (land | remove) == 0 -> goto completed
  :: why == land_ && (land | remove) == 0
  fi;
  CHECK("who succeeds has landed all", whole & BIT(me));
  goto done;

completed:
  CHECK("a completed batch is visible", whole & BIT(old));
  goto done;

release:
  atomic { SAVE(holder = NOBODY) };                                           /* Lease.Release */
  goto refused;

lost:                                                                         /* Lease.lost */
  CHECK("the last run loses nothing", me != LAST);
  atomic {
    SITUATION("a run that was taken over wakes up");
    if :: (toDrop & BIT(me)) && finished != me && !(toLand & BIT(me)) -> staged[me] = 0 :: else fi
  };

refused:
done:
  atomic {                                                                    /* Run.End: the record no longer says running */
    running = running & ~BIT(me);
    if :: me == LAST -> clean = 1 :: else fi
  };
over:
  base = 0; land = 0; remove = 0; drop = 0; did = 0; old = 0; rerun = 0; why = 0
}

/* A start of another batch: Ledger.FinishCommitted, finishOne. It holds nothing and judges nobody. */
proctype Passer() {
  byte base, land, remove, drop;
  bit did, held;
  atomic { LOAD; held = (holder != NOBODY); if :: (land | remove | drop) == 0 -> goto over :: else fi };
  CARRY(true);
  atomic { if :: held -> SITUATION("a start that holds nothing carries out the list of a batch that is held") :: else -> EMPTY fi };
over:
  base = 0; land = 0; remove = 0; drop = 0; did = 0; held = 0
}

#define UNCOMMITTED(r) (landed[r] != 0 && !(committed & BIT(r)))
#define WRONG(r)       (finished == r && landed[r] != ALL || finished != r && landed[r] != 0)
#if RUNS == 3
#define ANY(p)         (p(0) || p(1) || p(2))
#define NONE_WHOLE     (landed[0] != ALL && landed[1] != ALL && landed[2] != ALL)
#else
#define ANY(p)         (p(0) || p(1))
#define NONE_WHOLE     (landed[0] != ALL && landed[1] != ALL)
#endif

/* Looked at in every state. */
active proctype Watch() {
end:
  if
  :: atomic { ANY(UNCOMMITTED) -> CHECK("I1: nothing uncommitted is visible", false) }
  :: atomic { whole != 0 && NONE_WHOLE -> CHECK("I3: readers see the old files or the new ones", false) }
  :: atomic { clean && (finished == NOBODY || ANY(WRONG)) -> CHECK("the batch once, whoever wakes up", false) }
  fi
}

init {
  byte i = 0;
  atomic {
    do :: i < RUNS -> run Run(i); i++ :: else -> break od;
    i = 0;
    do :: i < PASSERS -> run Passer(); i++ :: else -> break od;
    i = 0
  }
}
