package engine

import (
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// incremental tells whether a task reads only what it had not read yet.
func incremental(plan.Task) bool { return false }

// objects is how far the batch's incremental inputs were read, for the run state.
func (b *batch) objects() []runstate.ObjectState { return nil }
