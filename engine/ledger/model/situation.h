/* A named situation that the checker must meet in some configuration: it is printed the first time. A model
   in which it cannot occur proves nothing about it, so scripts/model.sh fails then. */
#define SITUATION(name) c_code { static int met; if (!met) { met = 1; printf("situation: %s\n", name); } }

/* What must hold; it is printed where it does not. */
#define CHECK(name, condition) \
  if :: (condition) :: else -> c_code { printf("broken: %s\n", name); }; assert(false) fi
