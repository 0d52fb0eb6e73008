/* The folder store's compare-and-swap (package store, and Lease.save, Ledger.settle), as README.md says.

   WRITERS change one document, each by up to SAVES saves that follow one another; an actor loads it and
   acts on what it says. Each is at any moment paused for as long as it likes; one that never moves again
   has crashed. A sync may fail and the answer to a link may be lost. A listing is no snapshot: of the
   names that come or go while it is made it holds any; one such listing a load. When the power is cut,
   the disk has of every name that changed since the last sync of the folder the old state or the new one.

   In the first configuration a load lists as often as it does, and is shown to return a version that was
   the newest one meanwhile; in the others it is one step.

   configuration: WRITERS=2 SAVES=3 GENERATIONS=5 LISTINGS
   configuration: WRITERS=3 SAVES=1 GENERATIONS=5
   configuration: WRITERS=2 SAVES=2 GENERATIONS=4 ACTOR
   fault: BASE_ID_NOT_COMPARED WRITERS=3 SAVES=3 GENERATIONS=5
          a save counts if the name it was built on is there, whoever's file that is by now
   fault: EEXIST_IS_LOSS WRITERS=2 SAVES=2 GENERATIONS=4 ACTOR
          the name is taken, so somebody else took it
   fault: SWEEP_NEW_FIRST WRITERS=2 SAVES=2 GENERATIONS=4 ACTOR
          old generations are removed from new to old
   fault: EMPTY_IS_ABSENT WRITERS=2 SAVES=3 GENERATIONS=5 LISTINGS
          a folder in which one listing finds nothing has no document
   fault: SAVE_UNSYNCED WRITERS=2 SAVES=2 GENERATIONS=4 ACTOR
          a save counts before its name is durable
   fault: ACT_ON_UNSYNCED WRITERS=2 SAVES=2 GENERATIONS=4 ACTOR
          who did not save the document acts on it without a sync of its folder
   fault: FORGOTTEN_IS_LOSS WRITERS=2 SAVES=2 GENERATIONS=4 ACTOR
          an id that nobody remembers is that of a save which did not count              */

#include "situation.h"

/* GENERATIONS: beyond it nobody saves any more */
#define KEEP      2                 /* generations that the sweep leaves */
#define ANCESTORS 2                 /* generations that a document remembers */
#ifdef ACTOR
#define LISTERS (WRITERS+1)
#else
#define LISTERS WRITERS
#endif
#define BIT(g) (1 << (g))

/* The folder: the id of the file that has generation g's name, 0: there is none. */
byte file[GENERATIONS+1];
#ifdef ACTOR
byte disk[GENERATIONS+1];           /* what a power cut would leave of it, at least or at most */
bit  dark = 0;                      /* the power was cut: what ran before has died */
#endif
byte ids = 0;                       /* random in fact */

#ifdef LISTINGS
byte touched[LISTERS];              /* names that came or went since this process began to list */
bit  listing[LISTERS];
#endif

/* For the checks only: the ids of the document's true versions. */
byte chain[GENERATIONS+1];
byte head = 0;
byte acted = 0;                     /* the newest generation on which somebody acted */

#ifdef LISTINGS
#define CHANGED(g) i = 0; do :: i < LISTERS -> if :: listing[i] -> touched[i] = touched[i] | BIT(g) :: else fi; i++ \
                             :: else -> i = 0; break od

/* Folder.list: the newest name that was listed; of those that came or went meanwhile, any may be missing. */
#define NEWEST(m) if :: torn -> touched[me] = 0 :: else -> torn = (touched[me] != 0) fi; \
                  m = 0; i = 1; do :: i <= GENERATIONS -> \
                       if :: touched[me] & BIT(i) -> m = i \
                          :: touched[me] & BIT(i) \
                          :: else -> if :: file[i] != 0 -> m = i :: else fi fi; i++ \
                  :: else -> i = 0; break od; \
                  listing[me] = 0; touched[me] = 0

/* Folder.load: the version (gen, id); seen is the newest generation that this process has met. It may find
   that the folder is damaged, and never is. */
inline LOAD() {
  atomic { from = head; gen = 0; lacking = 0; torn = 0 };
list:
  atomic { listing[me] = 1; touched[me] = 0 };
  atomic {
    NEWEST(g);
    if
    :: g != 0 && g == gen -> g = 0; goto loaded
    :: else -> gen = g; g = 0
    fi
  };
  if
  :: gen != 0 ->
     atomic {
       id = file[gen];
       if
       :: id == 0 -> gen = 0; SITUATION("a generation that was swept after it was listed"); goto list
       :: else
       fi;
       if
       :: gen >= seen -> goto list
       :: gen < seen
       fi
     }
  :: gen == 0
  fi;
  atomic {
    lacking++;
#ifdef EMPTY_IS_ABSENT
    if :: gen == 0 -> id = 0; goto loaded :: else fi;
#endif
    gen = 0; id = 0;
    if
    :: lacking < 3 -> goto list
    :: lacking == 3 && seen != 0 -> goto over                  /* UnreadableError */
    :: lacking == 3 && seen == 0                               /* there is no document */
    fi
  };
loaded:
  atomic {
    CHECK("a load returns a version that was the newest one meanwhile", from <= gen && gen <= head && id == chain[gen]);
    from = 0; lacking = 0; torn = 0
  }
}
#else
#define CHANGED(g) skip
inline LOAD() {
  d_step {
    gen = 0; i = 1;
    do :: i <= GENERATIONS -> if :: file[i] != 0 -> gen = i :: else fi; i++ :: else -> i = 0; break od;
    id = file[gen]
  }
}
#endif

#ifdef ACTOR
#define SYNC i = 0; do :: i <= GENERATIONS -> disk[i] = file[i]; i++ :: else -> i = 0; break od
#else
#define SYNC skip
#endif

/* Version.Includes: whether it was built on a save with one of these ids, as far back as it knows. */
#define INCLUDES(g, k) (g > k && (tried & BIT(chain[g-k])))

mtype = { start, judge, settle };                              /* what the document is loaded for */

proctype Writer(byte me) {
  byte base, baseID;                                           /* what the save is built on */
  byte mine, oldest;                                           /* its id; generation of the oldest one that was tried */
  byte gen, id, seen, from, lacking, g, i, saves;
  int tried;                                                   /* ids of saves of this change of which nothing is known */
  bit torn, legit, done, unsynced;                                   /* for the checks: this save counts, the change was made */
  mtype why;

  why = start;
load:
  LOAD();
  if
  :: why == start -> atomic { seen = gen; base = gen; baseID = id; goto save }
  :: why == judge -> goto judged
  :: why == settle -> goto settled
  fi;

save:                                                          /* Folder.Save */
  if :: base == GENERATIONS || saves == SAVES -> goto over :: else fi;
  atomic {
    if
    :: file[base+1] == 0 ->                                    /* Folder.take: link(2) */
       ids++; mine = ids; file[base+1] = mine; CHANGED(base+1);
       legit = (head == base && chain[head] == baseID);
       if :: legit -> head++; chain[head] = mine; done = 1
          :: else -> SITUATION("a generation that was swept is taken again by one that slept") fi
    :: file[base+1] != 0 -> goto conflict
    fi
  };
#ifdef EEXIST_IS_LOSS
  if :: goto conflict :: true fi;
#endif
#ifndef SAVE_UNSYNCED
  if
  :: d_step { SYNC }
  :: unsynced = 1
  fi;
#endif
  atomic {                                                     /* Folder.verdict */
    if
#ifdef BASE_ID_NOT_COMPARED
    :: base != 0 && file[base] != 0 -> goto counted
#else
    :: base != 0 && file[base] == baseID && baseID != 0 -> goto counted
#endif
    :: else -> why = judge
    fi
  };
  goto load;
judged:
  atomic {
    if
    :: id == mine -> goto counted
    :: id != mine && gen > base+1 && gen-(base+1) <= ANCESTORS ->
       if
       :: chain[base+1] == mine -> SITUATION("a save that its successors prove"); goto counted
       :: else -> goto conflict
       fi
    :: else -> SITUATION("a save of which the newest version does not know"); goto unknown
    fi
  };

counted:
  atomic {
    CHECK("a save counts only if it was built on the newest version", legit);
    if :: unsynced -> unsynced = 0; goto unknown :: else fi;
    base++; baseID = mine; seen = base; saves++; tried = 0; oldest = 0; legit = 0; done = 0; mine = 0; gen = 0; id = 0;
    if :: acted < base -> acted = base :: else fi;
    g = 1
  };
#ifdef SWEEP_NEW_FIRST
  g = base;
  do
  :: g > KEEP -> atomic { g--; file[g-KEEP+1] = 0; CHANGED(g-KEEP+1) }
  :: g <= KEEP -> break
  od;
#else
  do
  :: g+KEEP <= base -> atomic { file[g] = 0; CHANGED(g); g++ }  /* Folder.sweep */
  :: g+KEEP > base -> break
  od;
#endif
  g = 0;
  goto save;

unknown:
  atomic { tried = tried | BIT(mine); if :: oldest == 0 -> oldest = base+1 :: else fi; goto look };
conflict:
  atomic { CHECK("a save that counts is not taken for lost", !legit) };
look:
  atomic { legit = 0; mine = 0; unsynced = 0; why = settle };
  goto load;
settled:                                                       /* Ledger.settle, Lease.save */
  atomic {
    if
    :: tried & BIT(id) -> SITUATION("a save whose outcome was unknown is saved again")
    :: !(tried & BIT(id)) && (INCLUDES(gen, 1) || INCLUDES(gen, 2)) -> goto over     /* built upon: UnknownError */
#ifndef FORGOTTEN_IS_LOSS
    :: !(tried & BIT(id)) && !(INCLUDES(gen, 1) || INCLUDES(gen, 2)) && tried != 0 && gen > oldest+ANCESTORS ->
       SITUATION("a save that is older than what the newest version remembers"); goto over   /* UnknownError */
#endif
    :: else -> CHECK("a change that was made is not made again, nor taken for lost", !done)
    fi;
    base = gen; baseID = id; seen = gen
  };
  goto save;
over:
  base = 0; baseID = 0; mine = 0; oldest = 0; gen = 0; id = 0; seen = 0; from = 0; lacking = 0; saves = 0; tried = 0;
  legit = 0; done = 0; unsynced = 0; torn = 0; why = 0
}

#ifdef ACTOR
/* Ledger.finishOne: it did not save what it acts on. */
proctype Actor(byte me) {
  byte gen, id, seen, from, lacking, g, i;
  bit torn;
  LOAD();
#ifndef ACT_ON_UNSYNCED
  d_step { SYNC };                                             /* Folder.Settle */
#endif
  atomic { if :: acted < gen -> acted = gen :: else fi; gen = 0; id = 0 };
over:
  atomic { gen = 0; id = 0; seen = 0; from = 0; lacking = 0; torn = 0 }
}

/* What a power cut would leave now: of each name the state of the last sync or the present one. */
proctype PowerCut() {
  byte g;
  bit bad;
  d_step {
    g = GENERATIONS;
    do
    :: g == 0 -> bad = bad || acted > 0; break
    :: g > 0 ->
       if :: file[g] != 0 && (file[g] != chain[g] || g < acted) -> bad = 1 :: else fi;
       if :: disk[g] != 0 && (disk[g] != chain[g] || g < acted) -> bad = 1 :: else fi;
       if :: file[g] != 0 && disk[g] != 0 -> break :: else fi;
       g--
    od;
    g = 0
  };
  CHECK("what somebody acted on survives a power cut", !bad)
}
#endif

init {
  byte i = 0;
  atomic {
    do :: i < WRITERS -> run Writer(i); i++ :: else -> break od;
#ifdef ACTOR
    run Actor(WRITERS);
    run PowerCut();
#endif
    i = 0
  }
}
