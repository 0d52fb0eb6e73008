package main

import "fmt"

// together starts runs at once: of one batch, over a dead one, or half of them of another batch.
func (p *play) together(n int) error {
	if p.then == dead {
		at := 1 + p.random.IntN(p.model.operations)
		q, err := start(p.program, p.dir, []string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", at)}, p.model.args()...)
		if err != nil {
			return err
		}
		p.ended(q, fmt.Sprintf("killed at %d", at), 137)
		if err := p.look("look"); err != nil {
			return err
		}
		p.step = step(p.model.batches[0], p.docs)
	}
	committed := p.model.batches[0].done(p.docs)
	p.struck, p.judge.twice = true, p.mode == "rerun"
	all := make([]*process, n)
	for i := range all {
		args := p.model.args()
		if p.then == days && i%2 == 1 {
			args = runArgs(tomorrow)
		}
		var err error
		if all[i], err = start(p.program, p.dir, nil, args...); err != nil {
			return err
		}
	}
	won, exits := [2]int{}, p.exits(0, 1)
	if p.then == days && p.model.table() && !adds(p.mode) {
		exits = append(exits, 4) // the other batch has changed rows that this one was about to replace
	}
	for i, q := range all {
		p.ended(q, fmt.Sprintf("number %d of %d at once", i+1, n), exits...)
		if q.exit() == 0 {
			won[i%2]++
		}
	}
	if err := p.look("look"); err != nil {
		return err
	}
	p.winners(won, committed)
	return nil
}

// winners judges how many of those that were started at once ran.
func (p *play) winners(won [2]int, committed bool) {
	sum := won[0] + won[1]
	switch {
	case p.mode == "append" && p.then == days && won != [2]int{1, 1}:
		p.wrong("of two batches %v runs went on, want one each", won)
	case p.mode == "append" && p.then != days && !committed && sum != 1:
		p.wrong("%d runs of one batch went on, want 1", sum)
	case sum == 0 && !committed:
		p.wrong("every run was refused")
	}
}
