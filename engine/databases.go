package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/compute/database"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// databases are those of the pipeline's connections that something was asked of. The zero value is ready.
type databases struct {
	mu     sync.Mutex
	opened map[string]*database.Database
}

// database gives that of a connection: secrets are looked up now, and nothing is connected. The error is a *problem.Problem.
func (r *run) database(ctx context.Context, name string) (*database.Database, error) {
	d := &r.databases
	d.mu.Lock()
	defer d.mu.Unlock()
	if db, ok := d.opened[name]; ok {
		return db, nil
	}
	c := r.config.Connections[slices.IndexFunc(r.config.Connections, func(c config.Connection) bool { return c.Name == name })]
	address, err := database.Parse(c.URL.Reveal())
	if err != nil {
		return nil, urlProblem(c, err)
	}
	secrets := map[string]config.Secret{}
	for _, part := range []struct {
		name string
		from config.Credential
	}{{"user", c.User}, {"password", c.Password}} {
		found, err := part.from.LookUp(os.LookupEnv, func(command []string) (string, error) { return r.ask(ctx, command) })
		if err != nil {
			return nil, &problem.Problem{Code: problem.ConnectionFailed, Pos: part.from.Pos, Message: fmt.Sprintf("connection %s: %s: %v", name, part.name, err), Data: r.soFar(), Hint: "say where else it is, as {env: NAME}, {file: PATH} or {command: [PROGRAM, …]}"}
		}
		secrets[part.name] = found
	}
	application := "ubunye"
	if r.record != nil {
		application += " " + r.record.ID
	}
	db, err := database.New(database.Connection{Name: name, Address: address, User: secrets["user"].Reveal(), Password: database.NewSecret(secrets["password"].Reveal()), Application: application, Dir: r.config.Dir})
	if err != nil {
		return nil, urlProblem(c, err)
	}
	if d.opened == nil {
		d.opened = map[string]*database.Database{}
	}
	d.opened[name] = db
	return db, nil
}

// ask runs a command that writes a secret. What it writes is not told, whatever becomes of it.
func (r *run) ask(ctx context.Context, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = r.config.Dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the command %s failed: %w", command[0], err)
	}
	return string(out), nil
}

func urlProblem(c config.Connection, err error) *problem.Problem {
	p := &problem.Problem{Code: problem.ConfigInvalid, Pos: c.URLPos, Message: "connection " + c.Name + ": url: " + err.Error()}
	var e *database.URLError
	if errors.As(err, &e) {
		p.Hint = e.Hint
	}
	return p
}

// checkConnections finds what is wrong with the addresses of connections, and what of them means nothing here. Nothing is connected.
func (r *run) checkConnections() (wrong, ignored problem.List) {
	for _, c := range r.config.Connections {
		if c.Open {
			continue
		}
		address, err := database.Parse(c.URL.Reveal())
		if err == nil {
			_, err = database.New(database.Connection{Name: c.Name, Address: address})
		}
		if err != nil {
			wrong = append(wrong, urlProblem(c, err))
			continue
		}
		if len(address.Ignored) > 0 {
			ignored = append(ignored, &problem.Problem{Code: problem.ConfigInvalid, Pos: c.URLPos, Message: "connection " + c.Name + ": url: nothing is made of " + strings.Join(address.Ignored, ", "), Hint: "remove it, if nothing is lost with it"})
		}
	}
	return wrong, ignored
}

// isDatabase tells whether an input reads a database.
func isDatabase(in config.Input) bool { return in.Connection != "" }

// checkDatabaseOptions takes the options of an input of a database apart; the compute engine knows none of them.
func checkDatabaseOptions(in config.Input) []*compute.Error {
	_, wrong := database.ReadOptions(closedOptions(in.Options, in.OptionsAt))
	return wrong
}

// source looks at what an input reads of a database. window, if it is not nil, are the rows that are wanted.
func (r *run) source(ctx context.Context, in config.Input, window *compute.Window) (*database.Source, error) {
	db, err := r.database(ctx, in.Connection)
	if err != nil {
		return nil, err
	}
	options, _ := database.ReadOptions(in.Options)
	rows := database.Rows{Table: in.Table, Query: in.Query, Window: window, Options: options, Columns: r.asked(in, nil).Columns}
	src, err := db.Source(ctx, rows)
	if err != nil {
		return nil, r.databaseError(ctx, in, err)
	}
	return src, nil
}

// databaseError places an error of reading a database in the pipeline. Others come back as they are.
func (r *run) databaseError(ctx context.Context, in config.Input, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *database.Error
	if errors.As(err, &failed) {
		return r.connectionProblem(in, failed)
	}
	var e *compute.Error
	if errors.As(err, &e) && e.Input == "" {
		e.Input = in.Name
	}
	return err
}

// connectionProblem tells what of a connection failed.
func (r *run) connectionProblem(in config.Input, e *database.Error) *problem.Problem {
	p := &problem.Problem{Code: problem.ConnectionFailed, Pos: in.PathPos, Message: "input " + in.Name + ": " + e.Error(), Data: r.soFar(), Hint: e.Hint}
	switch e.Stage {
	case database.StageTable:
		p.Code = problem.InputMissing
	case database.StageQuery:
		p.Code = problem.ComputeFailed
	case database.StageRight:
	default:
		for _, c := range r.config.Connections {
			if c.Name == in.Connection {
				p.Pos = c.URLPos
			}
		}
	}
	return p
}

// openDatabase opens an input of a database, once: all its rows are read now, or those that are new.
func (b *batch) openDatabase(ctx context.Context, in config.Input) (*openedInput, error) {
	var window *compute.Window
	if c := b.spans[in.Name].Column; c != nil {
		window = &compute.Window{Column: c.Name, Type: c.Type, After: c.After, UpTo: c.UpTo}
	}
	src, err := b.source(ctx, in, window)
	if err != nil {
		return nil, err
	}
	asked := b.asked(in, nil)
	asked.Name, asked.Options, asked.Source = b.checks.Whole(in.Name), nil, src
	relation, _, err := b.session.Input(ctx, asked)
	if err != nil {
		return nil, b.databaseError(ctx, in, err)
	}
	for _, text := range src.Told() {
		b.warn("task " + b.task.Name + ", input " + in.Name + ": " + text)
	}
	return &openedInput{asked: asked, relation: relation}, nil
}

// newInDatabase finds the rows that come after a value, by asking the database for the greatest one.
func (r *run) newInDatabase(ctx context.Context, session compute.Session, task string, in config.Input, after *compute.Value) (*columnSpan, error) {
	src, err := r.source(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	one, nulls, err := src.Greatest(ctx, in.Incremental.Column)
	if err != nil {
		return nil, r.databaseError(ctx, in, err)
	}
	relation, _, err := session.Input(ctx, compute.Input{Name: in.Name + "\x01greatest", Format: in.Format, Source: one})
	if err != nil {
		return nil, r.databaseError(ctx, in, err)
	}
	g, err := session.Greatest(ctx, relation, in.Incremental.Column, after)
	if err != nil {
		return nil, err
	}
	g.Nulls = nulls
	return r.newAfter(task, in, after, g)
}

// foreseeDatabase tells of an input of a database what a run would find: it connects, and reads no rows. What fails of the
// connection would end a run, so it is told as that.
func (r *run) foreseeDatabase(ctx context.Context, session compute.Session, f *foresight, in config.Input, had *shapes) (*PlannedInput, drift, error) {
	planned := &PlannedInput{Input: in.Name, Format: in.Format, Path: in.Written, Connection: in.Connection}
	fails := func(err error) (*PlannedInput, drift, error) {
		var p *problem.Problem
		if ctx.Err() != nil {
			return planned, drift{}, err
		}
		if !errors.As(err, &p) {
			p = r.explain(err, f.task.Name)[0]
		}
		if hasShape(in) {
			planned.Unread = "nothing could be asked"
		}
		return planned, drift{}, f.refuse(p)
	}
	src, err := r.source(ctx, in, nil)
	if err != nil {
		return fails(err)
	}
	if in.Incremental != nil {
		s := f.settled[in.Name]
		if f.settled == nil {
			on, err := f.readsOn(f.task.Name, in, f.last, f.view.Marks)
			if err == nil {
				s.Column, err = r.newInDatabase(ctx, session, f.task.Name, in, on.value)
			}
			if err != nil {
				return fails(err)
			}
		}
		if s.Column != nil {
			f.note(planned, s, "")
		}
	}
	if !hasShape(in) {
		return planned, drift{}, nil
	}
	d := compared(f.task.Name, in, src.Columns(), had)
	planned.tellShape(d)
	return planned, d, nil
}

// compared holds the columns that a table has against those that it had.
func compared(task string, in config.Input, columns []compute.Column, had *shapes) drift {
	d := drift{columns: ledgerColumns(columns)}
	last, ok := had.last[in.Name]
	if !ok {
		return d
	}
	found := changes(last.Columns, columns)
	if own := had.own[in.Name]; own != nil && len(found) > 0 && len(changes(own, columns)) == 0 {
		d.old = true
		return d
	}
	for _, c := range found {
		text := "input " + in.Name + ": " + c.text(last)
		if c.allowed(in.Schema) {
			d.told = append(d.told, text+"; schema: "+in.Schema+" allows it")
			continue
		}
		d.refused = append(d.refused, &problem.Problem{Code: problem.SchemaDiffers, Task: task, Pos: in.PathPos, Message: text, Data: nothing, Hint: c.waysOn(in)})
	}
	return d
}

// readsDatabases tells whether a task does.
func readsDatabases(t plan.Task) bool { return slices.ContainsFunc(t.Inputs, isDatabase) }
