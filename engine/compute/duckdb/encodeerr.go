package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// encodeErr makes the error of a COPY that failed.
func (s *session) encodeErr(ctx context.Context, e *encoding, err error) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	if own := (*compute.Error)(nil); errors.As(err, &own) {
		return own
	}
	said := parse(err)
	if said.Errno != "" || said.Type == "IO" {
		if found := s.blame(ctx, e.rel, err, ""); isInputError(found) {
			return found
		}
		if said.Errno == strconv.Itoa(int(syscall.ENAMETOOLONG)) && len(e.PartitionBy) > 0 {
			return s.longNameErr(ctx, e)
		}
		return outputErr(e.Dir, said, err)
	}
	for _, r := range e.refusals {
		if err := s.refused(ctx, e, r); err != nil {
			return err
		}
	}
	return s.blame(ctx, e.rel, err, "encoding "+e.rel.name+" failed")
}

func isInputError(err error) bool {
	var e *compute.Error
	return errors.As(err, &e) && (e.Kind == compute.InputInvalid || e.Kind == compute.InputMissing)
}

func outputErr(dir string, said engineError, err error) error {
	e := &compute.Error{Kind: compute.OutputFailed, File: dir, Message: "writing failed: " + said.line(), Err: err}
	n, atoi := strconv.Atoi(said.Errno)
	if atoi != nil {
		return e
	}
	switch errno := syscall.Errno(n); {
	case errno == syscall.ENOSPC:
		e.Message, e.Hint = "writing failed: the disk is full", "make room and run again"
	case errors.Is(errno, fs.ErrPermission):
		e.Message, e.Hint = "writing failed: "+errno.Error(), "make the folder writable"
	default:
		e.Message = "writing failed: " + errno.Error()
	}
	return e
}

// longestName is the most bytes that a file system takes as one name.
const longestName = 255

// longNameErr finds the partition column whose value makes too long a name of a folder. A byte that is not a letter, a
// digit or one of -_.~ takes three there.
func (s *session) longNameErr(ctx context.Context, e *encoding) error {
	for _, column := range e.PartitionBy {
		text := fmt.Sprintf("CAST(%s AS VARCHAR)", quote(column))
		escaped := fmt.Sprintf("octet_length(encode(url_encode(%s)))", text)
		q := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s > %d LIMIT 1", text, escaped, quote(e.rel.name), escaped, longestName-len(column)-len("="))
		var found error
		err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
			var value string
			var length int
			err := rows.Scan(&value, &length)
			found = invalid(column, fmt.Sprintf("the value %s cannot name a partition: its folder's name would have %d bytes, and %d is the most", shorten(value), len(column)+1+length, longestName),
				"partition by something shorter, as md5("+column+")")
			return err
		})
		if err != nil {
			return s.fail(ctx, err, "looking for the long name failed")
		}
		if found != nil {
			return found
		}
	}
	return &compute.Error{Kind: compute.OutputFailed, File: e.Dir, Message: "writing failed: the name of a partition's folder is too long", Hint: "partition by something shorter"}
}

// refused looks for a value that the output cannot hold; nil if there is none, or if reading the relation fails,
// whose reason blame looks for.
func (s *session) refused(ctx context.Context, e *encoding, r refusal) error {
	var found []string
	q := fmt.Sprintf("SELECT coalesce(CAST(%s AS VARCHAR), 'NULL') FROM %s WHERE %s LIMIT 1", quote(r.column), quote(e.rel.name), r.when)
	err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		found = append(found, text)
		return err
	})
	if err != nil || len(found) == 0 {
		return nil
	}
	return invalid(r.column, r.message(found[0]), r.hint(found[0]))
}
