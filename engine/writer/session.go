package writer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// callLoad stands for loading where a call is named.
const callLoad = "load"

// maxLog is how many bytes of log a call may say.
const maxLog = 64 << 10

var errChildEnded = errors.New("the process that runs the plugin has ended")

// Session is one module in a process of its own. Its methods are for one goroutine at a time; Close may
// be called by any. After an error (but Busy) only Close is of use.
type Session struct {
	host   *Host
	module Module
	writer string // the module's name for the writer; "": to be found out
	limits Limits
	grants Grants
	ctx    context.Context
	cancel context.CancelCauseFunc
	begin  chan struct{} // closed by Begin
	loaded chan struct{} // closed when loading has ended
	proc   *process      // set before loaded is closed; nil: it could not be started
	conn   *wire.Conn
	busy   atomic.Bool

	baseline int64 // bytes that the child occupied when it had loaded

	mu   sync.Mutex
	dead *Error // why the session is of no more use
}

// Start is Prepare and Begin.
func (h *Host) Start(ctx context.Context, m Module, l Limits, g Grants) (*Session, error) {
	s, err := h.Prepare(ctx, m, l)
	if err == nil {
		s.Begin(g)
	}
	return s, err
}

// Prepare makes a session and returns at once: its process starts and compiles the module meanwhile, and what
// goes wrong there is the error of the first call. No code of the module runs before Begin, which must come before any
// call. The session ends with ctx. It must be closed.
func (h *Host) Prepare(ctx context.Context, m Module, l Limits) (*Session, error) {
	s := &Session{host: h, module: m, limits: l.withDefaults(), begin: make(chan struct{}), loaded: make(chan struct{})}
	if m.Path == "" {
		if _, _, ok := h.index.Writer(m.Name); !ok {
			return nil, noBuiltin(m)
		}
		s.writer = m.Name
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(s.loaded)
		if err := s.load(); err != nil {
			s.kill(err)
		}
	}()
	return s, nil
}

// Begin lets the module begin: it is initialised. It is to be called once.
func (s *Session) Begin(g Grants) {
	s.grants = g
	close(s.begin)
}

// errClosed is why the calls of a closed session end.
var errClosed = errors.New("the session was closed")

// Close ends the session and its process. It waits until nothing of it is left.
func (s *Session) Close() {
	s.cancel(errClosed)
	<-s.loaded
	s.kill(&Error{Call: callLoad, Kind: Cancelled, Message: errClosed.Error(), Err: errClosed})
	if s.proc != nil {
		<-s.proc.done
		s.proc.close()
	}
}

// Describe asks the module what it is.
func (s *Session) Describe(ctx context.Context) (abi.DescribeAnswer, error) {
	var answer abi.DescribeAnswer
	request := abi.DescribeRequest{Memory: s.limits.Memory}
	err := s.call(ctx, abi.CallDescribe, s.limits.Plan, request, nil, func(data []byte) error {
		if err := strict(data, &answer); err != nil {
			return err
		}
		return checkDescribe(answer)
	})
	return answer, err
}

// Plan has the writer look at one output, before any input is read.
func (s *Session) Plan(ctx context.Context, req abi.PlanRequest) (abi.PlanAnswer, error) {
	var answer abi.PlanAnswer
	if err := s.findWriter(ctx); err != nil {
		return answer, err
	}
	req.Writer, req.Memory = s.writer, s.limits.Memory
	ops := newOperations(abi.CallPlan, s.grants)
	defer ops.close()
	err := s.call(ctx, abi.CallPlan, s.limits.Plan, req, ops, func(data []byte) error {
		if err := strict(data, &answer); err != nil {
			return err
		}
		return checkPlan(&answer)
	})
	return answer, err
}

// Stage has the writer stage one output. The answer names exactly the files that were staged.
func (s *Session) Stage(ctx context.Context, req abi.StageRequest) (abi.StageAnswer, error) {
	var answer abi.StageAnswer
	if err := s.findWriter(ctx); err != nil {
		return answer, err
	}
	req.Writer, req.Memory = s.writer, s.limits.Memory
	ops := newOperations(abi.CallStage, s.grants, req.Relation)
	defer ops.close()
	err := s.call(ctx, abi.CallStage, s.limits.Stage, req, ops, func(data []byte) error {
		if err := strict(data, &answer); err != nil {
			return err
		}
		return ops.check(&answer)
	})
	return answer, err
}

// Commit has the writer commit what it staged, or what an earlier session of it did. After an error the outcome is that the commit
// was not made, or unknown if it may have been: the module had put something.
func (s *Session) Commit(ctx context.Context, req abi.CommitRequest) (abi.CommitAnswer, error) {
	answer := abi.CommitAnswer{Outcome: abi.OutcomeNotDone}
	if err := s.findWriter(ctx); err != nil {
		return answer, err
	}
	req.Writer, req.Memory = s.writer, s.limits.Memory
	ops := newOperations(abi.CallCommit, s.grants)
	defer ops.close()
	err := s.call(ctx, abi.CallCommit, s.limits.Stage, req, ops, func(data []byte) error {
		if err := strict(data, &answer); err != nil {
			return err
		}
		return checkCommit(&answer, req.Batch, ops.put)
	})
	if err != nil {
		answer = abi.CommitAnswer{Outcome: abi.OutcomeNotDone}
		if ops.put {
			answer.Outcome = abi.OutcomeUnknown
		}
	}
	return answer, err
}

// Resolve asks the writer what the log of its table holds.
func (s *Session) Resolve(ctx context.Context, req abi.ResolveRequest) (abi.ResolveAnswer, error) {
	var answer abi.ResolveAnswer
	if err := s.findWriter(ctx); err != nil {
		return answer, err
	}
	req.Writer, req.Memory = s.writer, s.limits.Memory
	ops := newOperations(abi.CallResolve, s.grants)
	defer ops.close()
	err := s.call(ctx, abi.CallResolve, s.limits.Stage, req, ops, func(data []byte) error {
		if err := strict(data, &answer); err != nil {
			return err
		}
		return checkResolve(&answer, req)
	})
	return answer, err
}

// findWriter learns what a module that is a file calls its writer.
func (s *Session) findWriter(ctx context.Context) error {
	if s.writer != "" {
		return nil
	}
	d, err := s.Describe(ctx)
	if err != nil {
		return err
	}
	found, err := chooseWriter(d.Writers, s.module)
	if err != nil {
		return s.fail(&Error{Call: string(abi.CallDescribe), Kind: Incompatible, Message: err.Error()})
	}
	s.writer = found.Name
	return nil
}

// chooseWriter picks the writer that a module is to be: the one that is asked for; else the only one, or the one
// of the plugin's name.
func chooseWriter(writers []abi.Description, m Module) (abi.Description, error) {
	var names []string
	for _, w := range writers {
		if m.Writer == w.Name || m.Writer == "" && (m.Name == w.Name || len(writers) == 1) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	wanted := m.Writer
	if wanted == "" {
		wanted = m.Name
	}
	return abi.Description{}, fmt.Errorf("the module has no writer %q; it has %s", wanted, strings.Join(names, ", "))
}

// call runs one call of the module. done reads the answer. ops may be nil.
func (s *Session) call(ctx context.Context, call abi.Call, limit time.Duration, request any, ops *operations, done func([]byte) error) error {
	if !s.busy.CompareAndSwap(false, true) {
		return s.named(&Error{Call: string(call), Kind: Busy, Message: "the plugin is inside another call"})
	}
	defer s.busy.Store(false)
	select {
	case <-s.loaded:
	case <-ctx.Done():
		cause := context.Cause(ctx)
		return s.fail(&Error{Call: string(call), Kind: Cancelled, Message: cause.Error(), Err: cause})
	}
	if err := s.lost(); err != nil {
		return err
	}
	data, err := json.Marshal(request)
	if err != nil {
		return s.fail(&Error{Call: string(call), Kind: HostFailed, Message: err.Error(), Err: err})
	}
	answer, e := s.converse(ctx, string(call), limit, ops, wire.Answer, func() error {
		return s.conn.Write(wire.Call, []byte(call), []byte{0}, data)
	})
	if e == nil {
		e = judge(answer, ops, done)
	}
	if e != nil {
		e.Call = string(call)
		return s.fail(e)
	}
	return nil
}

// judge reads the answer to a call: a code, then the module's words.
func judge(answer []byte, ops *operations, done func([]byte) error) *Error {
	code, data, err := wire.Number(answer)
	if err != nil {
		return &Error{Kind: Protocol, Message: err.Error(), Err: err}
	}
	if ops != nil && ops.failed != nil {
		return ops.failed // whatever the module makes of it
	}
	if code != 0 {
		var f abi.Failure
		if err := json.Unmarshal(data, &f); err != nil || f.Message == "" {
			return &Error{Kind: Reported, Message: fmt.Sprintf("it returned %d and gave no reason", int32(code))}
		}
		e := reported(f)
		if f.Code == abi.CodeRefused {
			e.Kind = Refused
		}
		return e
	}
	if err := done(data); err != nil {
		return &Error{Kind: Output, Message: "its answer makes no sense: " + line(err.Error()), Err: err}
	}
	return nil
}

// strict reads an answer; a field that is not known would be something that is silently not done.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if len(data) == 0 {
			return errors.New("it is empty")
		}
		return err
	}
	if d.More() {
		return errors.New("something follows it")
	}
	return nil
}

// converse says something to the child and serves it until the frame that is wanted comes.
func (s *Session) converse(ctx context.Context, call string, limit time.Duration, ops *operations, want wire.Kind, say func() error) ([]byte, *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	w, ctx := s.watch(ctx, call, limit)
	defer w.stop()
	// A child that cannot be written to may still have left its last word: what it says decides.
	if err := say(); errors.Is(err, wire.ErrFrame) {
		return nil, &Error{Kind: HostFailed, Message: err.Error(), Err: err}
	}
	for {
		kind, payload, err := s.conn.Read()
		if errors.Is(err, wire.ErrFrame) {
			return nil, &Error{Kind: Protocol, Message: err.Error(), Err: err}
		} else if err != nil {
			return nil, s.ended(call)
		}
		switch kind {
		case want:
			return payload, nil
		case wire.Log:
			if len(payload) > 0 {
				s.log(abi.Level(payload[0]), line(string(payload[1:])))
			}
		case wire.Operation, wire.RowsNext, wire.FileWrite:
			w.pause()
			status, answer := ops.serve(ctx, abi.Call(call), kind, payload)
			w.resume()
			_ = s.conn.Write(wire.Result, []byte{byte(status)}, answer) // as above; an answer is never too large
		case wire.Dead:
			return nil, s.death(payload)
		default:
			return nil, &Error{Kind: Protocol, Message: fmt.Sprintf("frame %q where %q was due", kind, want)}
		}
	}
}

// log hands on what the module says.
func (s *Session) log(level abi.Level, text string) {
	select {
	case <-s.begin:
		if s.grants.Log != nil {
			s.grants.Log(s.module.Name, level, text)
			return
		}
	default: // a child that talks before it may: what was granted is not known yet
	}
	s.host.config.Log(s.module.Name, level, text)
}

// death reads the child's last word.
func (s *Session) death(payload []byte) *Error {
	var d wire.Death
	if err := json.Unmarshal(payload, &d); err != nil {
		return &Error{Kind: Protocol, Message: err.Error(), Err: err}
	}
	if d.Trace != "" {
		s.log(abi.LevelDebug, line(d.Trace))
	}
	return fromDeath(d)
}

// ended says why the child cannot be reached: this process killed it, or something else did.
func (s *Session) ended(call string) *Error {
	s.proc.kill() // it may only have closed its pipe
	how := s.proc.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		return s.dead
	}
	return &Error{Call: call, Kind: Ended, Message: "the process that runs it ended unexpectedly: " + how, Err: errChildEnded}
}

// kill ends the child for a reason; the first one counts.
func (s *Session) kill(e *Error) {
	s.mu.Lock()
	if s.dead == nil {
		e.Plugin = s.module.Name
		s.dead = e
	}
	s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
	}
}

// fail is kill for the one who waits for an answer: after an error an instance is not called again.
func (s *Session) fail(e *Error) error {
	select {
	case <-s.loaded:
		s.kill(e)
	default: // the child belongs to load, which ends with the context
		s.cancel(e)
	}
	return s.named(e)
}

// lost returns why the session is of no more use.
func (s *Session) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead == nil {
		return nil
	}
	return s.dead
}

func (s *Session) named(e *Error) *Error {
	e.Plugin = s.module.Name
	return e
}
