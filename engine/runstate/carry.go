package runstate

// carry chooses the tasks of an unfinished run that are not run again, and names those that are finished and may be
// neither kept nor written again without being told to.
//
// Everything that is completed is kept, but for an append: kept although there is more to read now, it would lose rows
// that the run was started for; written again, it would double those that are there. So it takes a proof, which is that
// what it read is unchanged, tasks of this run that it read from included, or that it reads only what it had not read; and
// that what it wrote is there.
func (d *Decision) carry() (unproven []Unproven) {
	d.Carried = map[string]Action{}
	run := StateName(d.previous.App.Name, d.Run)
	for _, t := range d.start.Tasks {
		a, there := d.previous.Actions[t.Name]
		completed := there && a.Completed()
		switch {
		case d.start.Rerun:
		case d.start.Resume && !completed && t.resumes(run):
			d.Carried[t.Name] = t.committed(Number{d.Run, d.Attempt - 1})
			continue
		case completed && t.Gone != "" && !t.Appends && a.State == Succeeded && !d.start.Resume:
			// it replaces what is there, so it may as well be made again
		case completed:
			if why := d.doubt(t, a); why != "" {
				unproven = append(unproven, Unproven{t.Name, why})
			}
			d.Carried[t.Name] = a
			continue
		}
		d.Tasks = append(d.Tasks, t.Name)
	}
	return unproven
}

// doubt tells why a completed task may not be kept without being told to; empty: it may.
func (d *Decision) doubt(t Task, a Action) string {
	if d.start.Resume || d.start.Recover == Auto || !t.Appends || a.State != Succeeded {
		return ""
	}
	if d.start.Recover == Ask {
		return "it has appended, and state.recover is ask"
	}
	if t.Gone != "" {
		return t.Gone
	}
	if t.Incremental {
		return ""
	}
	if t.Changed != "" {
		return t.Changed
	}
	for _, from := range t.From {
		if _, kept := d.Carried[from]; !kept {
			return "it has read what task " + from + " wrote, which runs again"
		}
	}
	return ""
}
