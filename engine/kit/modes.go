package kit

import (
	"context"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// The modes of outputs that have checks.
const (
	modeAppend     = "append"
	modeOverwrite  = "overwrite"
	modePartitions = "overwrite_partitions"
	modeError      = "error_if_exists"
	modeIgnore     = "ignore"
)

// checked tells whether there are checks for a class in a mode.
func checked(mode string, class abi.Class) bool {
	switch mode {
	case modeAppend, modeError, modeIgnore:
		return class == abi.ClassClaims
	case modeOverwrite, modePartitions:
		return class == abi.ClassReplaces
	}
	return false
}

// modeChecks are those that are made for each mode.
func modeChecks() []check {
	return []check{
		{"again", "runs one after another, and reruns, leave what the mode promises", []string{"rows"}, again},
		{"kill", "a run that is killed at any operation leaves nothing to be seen, and the next one leaves each row once", []string{"files", "again"}, kill},
	}
}

// unchecked says that nobody has written checks for a mode.
func (k *kit) unchecked(mode string) error {
	if class, _ := k.writer.Class(mode, k.Case.Options); !checked(mode, class) {
		return &noted{"there are no tests for mode " + mode + " with the class " + string(class) + " in this version"}
	}
	return nil
}

// again runs two batches one after the other, and then the last one again.
func again(ctx context.Context, k *kit, mode string) error {
	if err := k.unchecked(mode); err != nil {
		return err
	}
	t := daily
	if mode == modePartitions {
		t = dailyParts
	}
	p, err := k.project(task{name: "again", table: t, output: map[string]any{"mode": mode}})
	if err != nil {
		return err
	}
	one, two := t.at("1"), t.at("2")
	for _, step := range []struct {
		what, dt string
		more     []string
		want     []table
	}{
		{"the first batch", "1", nil, []table{one}},
		{"the second batch", "2", nil, after(mode, one, two)},
		{"a rerun of the second batch", "2", []string{"--rerun"}, after(mode, one, two)},
	} {
		if mode == modeError && step.dt == "2" {
			break // there is data: the engine does not even ask the writer
		}
		d, err := p.run(ctx, step.dt, step.more...)
		if err != nil {
			return err
		}
		if f := d.any(); f != nil {
			return wrongf("%s failed: %s", step.what, f.text)
		}
		if err := k.holds(ctx, p.folder("again"), step.want...); err != nil {
			return wrongf("after %s: %w", step.what, err)
		}
	}
	return nil
}

// after is what two batches leave.
func after(mode string, one, two table) []table {
	switch mode {
	case modeAppend:
		return []table{one, two}
	case modePartitions:
		kept := one
		kept.sql = "SELECT * FROM (" + one.sql + ") WHERE part <> 'all'"
		return []table{kept, two}
	case modeIgnore:
		return []table{one}
	}
	return []table{two}
}

// kill ends a run at its operations, one after the other, and runs it again.
func kill(ctx context.Context, k *kit, mode string) error {
	if err := k.unchecked(mode); err != nil {
		return err
	}
	t := task{name: "kill", table: lines(60_000), output: map[string]any{"mode": mode}}
	if mode == modePartitions {
		t.table = dailyParts.at("1")
	} else if k.outcome["files "] == Passed {
		t.output["target_file_size"] = sized["target_file_size"]
	}
	_, whole, err := k.write(ctx, t)
	if err != nil {
		return wrongf("nobody killed it, and it failed: %w", err)
	}
	for _, n := range k.spread(len(whole.points)) {
		if err := k.killAt(ctx, t, n); err != nil {
			if _, ok := err.(*broken); ok {
				return err
			}
			return wrongf("killed at operation %d, %s: %w", n, whole.points[n-1], err)
		}
	}
	return nil
}

func (k *kit) killAt(ctx context.Context, t task, n int) error {
	p, err := k.project(t)
	if err != nil {
		return err
	}
	d, err := p.stopAt(ctx, n, "1")
	if err != nil {
		return err
	}
	if !d.killed {
		return wrongf("it did not get there: the same rows were written by other operations before")
	}
	names, err := visible(p.folder(t.name))
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return wrongf("%s could be seen", names[0])
	}
	if d, err = p.run(ctx, "1"); err != nil {
		return err
	}
	if f := d.any(); f != nil {
		return wrongf("the next run failed: %s", f.text)
	}
	if err := k.holds(ctx, p.folder(t.name), t.table); err != nil {
		return wrongf("after the next run: %w", err)
	}
	left, err := p.leftovers()
	if err == nil && len(left) > 0 {
		slices.Sort(left)
		err = wrongf("after the next run %s is still in staging", left[0])
	}
	return err
}
