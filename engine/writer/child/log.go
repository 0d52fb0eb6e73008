package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// maxLine is the most bytes of one line of log.
const maxLine = 4 << 10

// logger sends what the module logs and prints, as much of it as a call may say.
type logger struct {
	conn      *wire.Conn
	room      int // bytes that this call may still say
	dropped   int // bytes beyond
	streams   []*stream
	lastWords string // the first line that this call printed to stderr
}

func (l *logger) begin(room int) { l.room, l.dropped, l.lastWords = room, 0, "" }

// end sends what was printed without a last newline, and says how much was dropped.
func (l *logger) end() {
	l.flush()
	if l.dropped > 0 {
		l.send(abi.LevelWarn, fmt.Appendf(nil, "%d more bytes of output were dropped", l.dropped))
		l.dropped = 0
	}
}

func (l *logger) flush() {
	for _, s := range l.streams {
		s.flush()
	}
}

// line sends one line if there is room.
func (l *logger) line(level abi.Level, text []byte) {
	if l.room <= 0 {
		l.dropped += len(text)
		return
	}
	// A line costs something even when empty.
	sent := text[:min(len(text), maxLine, l.room)]
	l.room -= len(sent) + 16
	l.dropped += len(text) - len(sent)
	l.send(level, sent)
}

func (l *logger) send(level abi.Level, text []byte) {
	// If the engine is gone the reading side ends this program; there is no one else to tell.
	_ = l.conn.Write(wire.Log, []byte{byte(level)}, text)
}

// stream cuts what is printed into lines.
func (l *logger) stream(level abi.Level) io.Writer {
	s := &stream{log: l, level: level}
	l.streams = append(l.streams, s)
	return s
}

type stream struct {
	log   *logger
	level abi.Level
	part  []byte
}

func (s *stream) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		line = line[:min(len(line), maxLine)]
		s.part = append(s.part, line[:min(len(line), maxLine-len(s.part))]...)
		if whole {
			s.flushLine()
		}
		rest = after
	}
	return len(p), nil
}

func (s *stream) flush() {
	if len(s.part) > 0 {
		s.flushLine()
	}
}

func (s *stream) flushLine() {
	if s.level == abi.LevelWarn && s.log.lastWords == "" {
		s.log.lastWords = string(s.part[:min(len(s.part), 200)])
	}
	s.log.line(s.level, s.part)
	s.part = s.part[:0]
}
