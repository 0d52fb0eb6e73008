/* Batches that append to one output folder and replace it (package ledger: exclude.go, replace.go, grab.go,
   and takeover), as README.md says.

   Run 0 appends two files, run 1 replaces the folder, run 2 is a second run of one of these batches; each batch has
   its own document. Each is at any moment paused for as long as it likes; one that never moves again has crashed.
   Any run may be judged dead at any moment though it is only paused. A sweeper removes records of runs that it takes
   for dead and of which no document names anything.

   configuration: RUNS=2
   configuration: RUNS=2 TWO_RENAMES
   configuration: RUNS=3 THIRD=true
   configuration: RUNS=3 THIRD=false
   fault: LIST_BEFORE_ACQUIRE RUNS=2
          a run looks for others first, and takes its batch then
   fault: OWN_RECORD_NOT_LOOKED_FOR RUNS=2
          a run whose record was removed goes on as if others could see it
   fault: EXCHANGE_BEFORE_GRAB RUNS=2
          the batch of a dead run is taken, but its staging is not, before its folder is written to
   fault: DROP_IN_PLACE RUNS=2
          staging is removed without the rename first
   fault: EXCHANGE_BY_HANDLE RUNS=2
          the exchange goes through a folder that is kept open
   fault: EXCHANGE_UNSAVED RUNS=2
          the exchange is made before `committing` is saved
   fault: SETTLE_UNLANDED RUNS=2
          what a dead run had committed is left for later
   fault: SETTLE_LOOKS_ONCE RUNS=2
          who finds that a run which it takes for dead does not hold its batch any more does not look why
   fault: NOT_PUT_BACK RUNS=2 TWO_RENAMES
          who grabs after the first of two renames removes the old folder                                        */

#include "situation.h"

#ifndef THIRD
#define THIRD true                  /* run 2 replaces */
#endif
#define REPLACES(r) ((r) == 1 || (r) == 2 && THIRD)
#define EXCLUDES(r, o) (REPLACES(r) || REPLACES(o))
#define BATCH(r) (REPLACES(r) -> 1 : 0)
#define NONE 255                    /* no folder */
#define OLD  RUNS                   /* the folder that was there before all runs */

/* The documents, per run: what its batch's document says of it. All changes are compare-and-swaps, so a
   save of a run counts while it holds. */
mtype = { free, holds, given, committed_, done };      /* given: its staging is to be dropped */
mtype says[RUNS];

/* runs/ */
mtype = { absent, asking, running };
mtype record[RUNS];

/* The disk. */
byte output = OLD;                  /* whose folder is at the output's name */
mtype = { there_, grabbed };
mtype staging[RUNS];
byte fresh[RUNS], away[RUNS];       /* whose folder is at new/ and at old/ in it */
bit  damaged[RUNS+1];               /* removing of that folder has begun */
bit  file[RUNS*2];                  /* whether file i of run r is staged */
byte at[RUNS*2];                    /* in whose folder it landed */

/* For the checks only: another run is in the folder. */
#define WORKS(r) (says[r] == holds && staging[r] == there_ || says[r] == committed_ && (file[2*(r)] || file[2*(r)+1]))
#if RUNS == 2
#define OTHERS (WORKS(1-me))
#else
#define OTHERS (me != 0 && WORKS(0) || me != 1 && WORKS(1) || me != 2 && WORKS(2))
#endif

#ifdef EXCHANGE_BY_HANDLE
#define REACHED(r) (staging[r] == there_ || staging[r] == grabbed)
#else
#define REACHED(r) (staging[r] == there_)
#endif

#define LAND(o, i) atomic { if :: file[2*(o)+i] && staging[o] == there_ -> \
                                  CHECK("a folder that is appended to is there", output != NONE); \
                                  file[2*(o)+i] = 0; at[2*(o)+i] = output; \
                                  CHECK("what is appended lies in one folder, not half in the one before", \
                                        at[2*(o)] == NONE || at[2*(o)+1] == NONE || at[2*(o)] == at[2*(o)+1]) \
                               :: else fi }

/* Ledger.carry of what the document says of run o. Any number of processes may do it at once. */
inline CARRY(o) {
  if
  :: says[o] == committed_ && !REPLACES(o) -> LAND(o, 0); LAND(o, 1)
  :: else
  fi;
  DROP(o);
  atomic {
    if
    :: says[o] == committed_ || says[o] == given ->
       CHECK("what was committed has landed", REPLACES(o) || says[o] == given || at[2*(o)] != NONE && at[2*(o)+1] != NONE);
       says[o] = done
    :: else
    fi
  }
}

/* work.drop: grab, look inside, remove. */
inline DROP(o) {
#ifndef DROP_IN_PLACE
  atomic { if :: staging[o] == there_ -> staging[o] = grabbed :: else fi };            /* Ledger.grab */
#endif
#if defined(TWO_RENAMES) && !defined(NOT_PUT_BACK)
  atomic {                                                                             /* work.putBack */
    if
    :: staging[o] == grabbed && away[o] != NONE && fresh[o] != NONE && output == NONE ->
       output = away[o]; away[o] = NONE; SITUATION("a folder that is put back between two renames")
    :: else
    fi
  };
#endif
  atomic {                                                                             /* Ledger.clear */
    if
    :: staging[o] != 0 && fresh[o] != NONE -> damaged[fresh[o]] = 1; CHECK("the output is whole", output == NONE || !damaged[output])
    :: else
    fi;
    if
    :: staging[o] != 0 && away[o] != NONE -> damaged[away[o]] = 1; CHECK("the output is there, or its old folder is", output != NONE)
    :: else
    fi
  };
  atomic { staging[o] = 0; fresh[o] = NONE; away[o] = NONE; file[2*(o)] = 0; file[2*(o)+1] = 0 }
}

/* exclusion.look: step back, look again, or settle what a dead run has left. */
inline EXCLUDE() {
  o = 0;
look:
  skip;
#ifndef OWN_RECORD_NOT_LOOKED_FOR
  atomic { if :: record[me] == absent -> SITUATION("a run whose record was removed starts over"); goto startOver :: else fi };
#endif
  o = 0;
  do
  :: o < RUNS && (o == me || !EXCLUDES(me, o)) -> o++
  :: o < RUNS && o != me && EXCLUDES(me, o) ->
     if
     :: atomic { record[o] == absent -> skip }
     :: atomic { record[o] == running -> SITUATION("a run that is excluded by one that runs"); goto stepBack }
     :: atomic { record[o] == asking && me > o -> SITUATION("of two that ask the higher one steps back"); goto stepBack }
     :: atomic { record[o] == asking && me < o -> goto look }
#ifdef SETTLE_LOOKS_ONCE
     :: atomic { record[o] != absent && says[o] == holds -> skip };
        atomic { if :: says[o] == holds -> says[o] = given :: else -> goto looked fi };
        CARRY(o);
looked: skip
#endif
     :: atomic {                                                                       /* judged dead: exclusion.settle */
          record[o] != absent ->
          if :: says[o] == holds -> says[o] = given; SITUATION("a live run of another batch is taken over") :: else fi
        };
#ifdef EXCHANGE_BEFORE_GRAB
        if :: says[o] == committed_ -> CARRY(o) :: else fi
#else
#ifdef SETTLE_UNLANDED
        if :: says[o] == given -> CARRY(o) :: else fi
#else
        if :: says[o] == given || says[o] == committed_ -> CARRY(o) :: else fi
#endif
#endif
     fi;
     o++
  :: o == RUNS -> o = 0; break
  od
}

proctype Run(byte me) {
  byte o, h;

startOver:
  record[me] = asking;                                                                 /* Ledger.Begin */
#ifdef LIST_BEFORE_ACQUIRE
  EXCLUDE();
#endif
  atomic {                                                                             /* Run.take */
    h = 0;
    do
    :: h < RUNS && h != me && BATCH(h) == BATCH(me) && says[h] == holds ->
       if :: goto stepBack                                                             /* HeldError */
          :: says[h] = given; SITUATION("a live run of the same batch is taken over") fi;
       h++
    :: h < RUNS && !(h != me && BATCH(h) == BATCH(me) && says[h] == holds) -> h++
    :: h == RUNS -> h = 0; break
    od;
    if :: says[me] == free || says[me] == holds -> says[me] = holds
       :: else -> goto over                                                            /* it was judged dead, and had started over */
    fi
  };
  do                                                                                   /* Lease.drain */
  :: h < RUNS && h != me && BATCH(h) == BATCH(me) && (says[h] == given || says[h] == committed_) -> CARRY(h); h++
  :: h < RUNS && !(h != me && BATCH(h) == BATCH(me) && (says[h] == given || says[h] == committed_)) -> h++
  :: h == RUNS -> h = 0; break
  od;
#ifndef LIST_BEFORE_ACQUIRE
  EXCLUDE();
#endif
  record[me] = running;                                                                /* Run.enter */

  atomic { if :: says[me] == holds :: else -> goto lost fi };                          /* Lease.Prepare */
  atomic {                                                                             /* Lease.makeStaging, and the writer */
    staging[me] = there_;
    if :: REPLACES(me) -> fresh[me] = me :: else -> file[2*me] = 1; file[2*me+1] = 1 fi
  };
  if
  :: !REPLACES(me) ->
     atomic { if :: says[me] == holds && staging[me] == there_ -> says[me] = committed_ :: else -> goto lost fi }
  :: REPLACES(me) ->
#ifndef EXCHANGE_UNSAVED
     atomic { if :: says[me] == holds :: else -> goto lost fi };                       /* savePhase: committing */
#endif
#ifdef TWO_RENAMES
     atomic { if :: REACHED(me) && output != NONE -> away[me] = output; output = NONE :: else -> goto lost fi };   /* Lease.twoRenames */
     atomic { if :: REACHED(me) && output == NONE -> output = fresh[me]; fresh[me] = NONE
                 :: else -> SITUATION("staging that is grabbed between two renames"); goto lost fi };
#else
     atomic {                                                                          /* Lease.exchange */
       if
       :: REACHED(me) && fresh[me] != NONE -> h = output; output = fresh[me]; fresh[me] = h; h = 0
       :: else -> SITUATION("an exchange of a run that was judged dead finds its staging gone"); goto lost
       fi;
       CHECK("what was put in place is whole", !damaged[output]);
       CHECK("nobody who excludes the run that replaces has staged or has still to land", !OTHERS)
     };
#endif
     atomic { if :: says[me] == holds -> says[me] = committed_
                 :: else -> SITUATION("a folder that was replaced by a run that did not commit"); goto lost fi }   /* Lease.Commit */
  fi;
  CARRY(me);                                                                           /* Lease.Land */
  goto end;

lost:
  if :: says[me] == given -> CARRY(me) :: else fi;                                     /* Lease.lost */
  goto end;
stepBack:
  atomic { if :: says[me] == holds -> says[me] = free :: else fi };                    /* Run.giveBack */
end:
  record[me] = absent;                                                                 /* Run.End */
over:
  o = 0; h = 0
}

/* A start that removes records of which nothing is left. */
proctype Sweeper() {
  if
  :: atomic { record[0] != absent && (says[0] == free || says[0] == done) -> record[0] = absent }
  :: atomic { record[1] != absent && (says[1] == free || says[1] == done) -> record[1] = absent }
  :: true
  fi
}

init {
  byte i = 0;
  atomic {
    do
    :: i < RUNS -> says[i] = free; record[i] = absent; fresh[i] = NONE; away[i] = NONE; at[2*i] = NONE; at[2*i+1] = NONE; i++
    :: else -> break
    od;
    i = 0;
    do :: i < RUNS -> run Run(i); i++ :: else -> break od;
    run Sweeper();
    i = 0
  }
}
