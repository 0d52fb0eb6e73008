package engine

import (
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/report"
)

// ticker is time.NewTicker in the form that an Engine has it.
func ticker(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// progress is how far a task is. The task's own goroutine says so; another one tells it from time to time.
//
// The compute engine does not say how much of a query it has done, so what is known while an output is being staged
// is what lies in its staging folder.
type progress struct {
	mu      sync.Mutex
	step    string
	read    *int64 // bytes of the inputs; nil: they are not listed yet
	staging string // the folder that is being filled; empty: none
	staged  []ledger.Result
}

func (p *progress) begin(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
}

func (p *progress) listed(files []compute.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := int64(0)
	if p.read != nil {
		total = *p.read
	}
	for _, f := range files {
		total += f.Size
	}
	p.read = &total
}

func (p *progress) stages(folder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.staging = folder
}

func (p *progress) hasStaged(r ledger.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.staging, p.staged = "", append(p.staged, r)
}

// event tells what is known now.
func (p *progress) event() report.Event {
	p.mu.Lock()
	e := report.Event{Kind: report.Progress, Step: p.step, Read: p.read}
	staging, staged := p.staging, p.staged
	p.mu.Unlock()
	if staging == "" && len(staged) == 0 {
		return e
	}
	files, bytes := folderSize(staging)
	for i, r := range staged {
		if i == 0 {
			e.Rows = new(int64)
		}
		*e.Rows += r.Rows
		files, bytes = files+r.Files, bytes+r.Bytes
	}
	e.Files, e.Bytes = &files, &bytes
	return e
}

// folderSize counts what is in a staging folder. It may vanish meanwhile, and what cannot be seen is not counted.
func folderSize(folder string) (files, bytes int64) {
	if folder == "" {
		return 0, 0
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != stagedSuffix {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return nil
	})
	return files, bytes
}

// tellProgress tells how far the task is, every e.Every, until the function that it returns is called.
func (b *batch) tellProgress(started time.Time) (stop func()) {
	if b.Every <= 0 {
		return func() {}
	}
	ticks, stopTicks := b.Ticks(b.Every)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticks:
				e := b.progress.event()
				e.Task, e.Batch, e.Duration = b.task.Name, batchText(b.task.Batch), b.Now().Sub(started).Seconds()
				if e.Step != "" {
					b.emit(e)
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		stopTicks()
		close(done)
		<-ended // no event of the task follows its last one
	}
}
