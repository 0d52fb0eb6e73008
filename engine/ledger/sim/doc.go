// Package sim runs the ledger's own code in worlds that a seed chooses: several processes on one disk, which
// are paused, killed, taken for dead while they live, told that a change failed which was made, and refused
// for want of room; and power cuts, after which the disk has forgotten what was not synced. Some outputs are tables with a
// log of their own. It has tests only.
//
// The files are real, in memory. Everything that changes them goes through fsops, whose hook is where a process
// waits for its turn: exactly one goes on, from one change to the next, so that a seed is one run and always the
// same. Time is that of a synctest bubble, randomness that of cryptotest, the table of processes a field of the
// ledger's configuration. After each change the oracle compares what readers see, what the documents say and what
// was promised.
//
//	go test ./engine/ledger/sim                                  a few hundred seeds
//	go test ./engine/ledger/sim -run TestSim -seeds=10000        as make sim does
//	go test ./engine/ledger/sim -run TestSim -seed=17 -v         one of them, step by step
//	go test ./engine/ledger/sim -run TestSim -seed=162 -v -bad="commits of later runs do not fence"
//	                                                             one in which the writers of tables make a mistake
package sim
