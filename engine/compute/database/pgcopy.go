package database

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// errCut says that rows stop where one is not at its end.
var errCut = io.ErrUnexpectedEOF

// pgSignature begins rows in PostgreSQL's binary format ("COPY", "Binary Format" in its manual).
var pgSignature = []byte("PGCOPY\n\xff\r\n\x00")

// pgCopy reads rows in the binary format of COPY, in whatever pieces they come: usually a row a piece.
type pgCopy struct {
	*batcher
	rest  []byte // of a piece, that is no whole row yet
	begun bool
	ended bool
}

// Write takes the next piece. It keeps nothing of it but copies.
func (p *pgCopy) Write(piece []byte) (int, error) {
	data := piece
	if len(p.rest) > 0 {
		p.rest = append(p.rest, piece...)
		data = p.rest
	}
	for len(data) > 0 {
		n, err := p.next(data)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		data = data[n:]
	}
	p.rest = append(p.rest[:0:0], data...)
	return len(piece), nil
}

// next reads what comes next, and tells how long it is; 0: it is not whole yet.
func (p *pgCopy) next(data []byte) (int, error) {
	if !p.begun {
		return p.header(data)
	}
	if len(data) < 2 || p.ended {
		return 0, nil
	}
	fields := int(int16(binary.BigEndian.Uint16(data)))
	if fields == -1 {
		p.ended = true
		return len(data), nil
	}
	if fields != len(p.columns) {
		return 0, fmt.Errorf("a row has %d columns and not %d: %w", fields, len(p.columns), errCut)
	}
	return p.row(data)
}

// header is the signature, flags, and an extension that is passed over.
func (p *pgCopy) header(data []byte) (int, error) {
	fixed := len(pgSignature) + 8
	if len(data) < fixed {
		return 0, nil
	}
	if !bytes.HasPrefix(data, pgSignature) {
		return 0, fmt.Errorf("the rows do not come in the binary format of COPY: %w", errCut)
	}
	more := int(binary.BigEndian.Uint32(data[len(pgSignature)+4:]))
	if len(data) < fixed+more {
		return 0, nil
	}
	p.begun = true
	return fixed + more, nil
}

// row reads a row of as many columns as there are. It looks first whether the row is whole.
func (p *pgCopy) row(data []byte) (int, error) {
	at := 2
	for range p.columns {
		if len(data) < at+4 {
			return 0, nil
		}
		if size := int(int32(binary.BigEndian.Uint32(data[at:]))); size > 0 {
			at += size
		}
		at += 4
	}
	if len(data) < at {
		return 0, nil
	}
	at = 2
	for i := range p.columns {
		size := int(int32(binary.BigEndian.Uint32(data[at:])))
		at += 4
		if size < 0 {
			p.builder.Field(i).AppendNull()
			continue
		}
		if err := p.columns[i].decode(p.builder.Field(i), data[at:at+size]); err != nil {
			return 0, p.inColumn(err, i)
		}
		p.bytes += size
		at += size
	}
	return at, p.end()
}
