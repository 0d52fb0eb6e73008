package duckdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Check finds what is wrong with an input by itself.
func (Engine) Check(ctx context.Context, in compute.Input) ([]*compute.Error, error) {
	c := &inputCheck{in: in}
	defer c.close()
	fits, ok := c.options()
	if !ok {
		return c.wrong, nil
	}
	if err := c.times(ctx); err != nil {
		return nil, err
	}
	if in.Rejects != nil {
		if wrong := uselessRejects(in); wrong != nil {
			c.add(wrong)
		}
	}
	for i, column := range in.Columns {
		if same := sameName(in.Columns[:i], column); same != nil {
			same.Column = column.Name
			c.add(same)
		}
		err := c.column(ctx, column, fits)
		var wrong *compute.Error
		switch {
		case err == nil:
		case errors.As(err, &wrong) && wrong.Kind == compute.BadOption:
			wrong.Column = column.Name
			c.add(wrong)
		default:
			return nil, err
		}
	}
	return c.wrong, nil
}

// times checks the options about times.
func (c *inputCheck) times(ctx context.Context) error {
	zone, date, timestamp := c.in.Options["time_zone"], c.in.Options["date_format"], c.in.Options["timestamp_format"]
	if zone+date+timestamp == "" || c.in.Format == "parquet" || c.in.Format == "delta" {
		return nil
	}
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	err = s.checkTimes(ctx, zone, date, timestamp)
	var wrong *compute.Error
	if errors.As(err, &wrong) && wrong.Kind == compute.BadOption {
		c.add(wrong)
		return nil
	}
	return err
}

// inputCheck is one Engine.Check.
type inputCheck struct {
	in    compute.Input
	wrong []*compute.Error
	ses   *session // nil: nothing had to be asked of DuckDB yet
}

func (c *inputCheck) add(wrong ...*compute.Error) {
	for _, e := range wrong {
		e.Input = c.in.Name
		c.wrong = append(c.wrong, e)
	}
}

func (c *inputCheck) close() {
	if c.ses != nil {
		_ = c.ses.Close() // it holds nothing
	}
}

// options checks the format and its options, and tells what fits the format's columns; false: the format is not known.
func (c *inputCheck) options() (fits func(ctx context.Context, column compute.Column) error, known bool) {
	switch c.in.Format {
	case "csv":
		o, wrong := readCSVOptions(c.in.Options)
		c.add(append(wrong, o.unheard(c.in)...)...)
		return func(_ context.Context, column compute.Column) error {
			_, err := fitFor("c", column.Type, o)
			return err
		}, true
	case "json":
		o, wrong := readJSONOptions(c.in.Options)
		c.add(wrong...)
		return func(ctx context.Context, column compute.Column) error { return c.fitsJSON(ctx, column, o) }, true
	case "parquet":
		_, _, wrong := readParquetOptions(c.in.Options)
		c.add(wrong...)
		return func(context.Context, compute.Column) error { return nil }, true
	case "delta":
		_, wrong := readDeltaOptions(c.in.Options)
		c.add(wrong...)
		return func(context.Context, compute.Column) error { return nil }, true
	case rowsFormat:
		if c.in.Rejects != nil {
			c.add(&compute.Error{Kind: compute.BadOption, Message: "rejects: a database has no rows that cannot be read", Hint: "remove rejects, or check the values in a step"})
			c.in.Rejects = nil
		}
		return func(context.Context, compute.Column) error { return nil }, true
	}
	c.add(unknownFormat(c.in.Format))
	return nil, false
}

// column checks the type of a column.
func (c *inputCheck) column(ctx context.Context, column compute.Column, fits func(context.Context, compute.Column) error) error {
	known, ok := commonType(column.Type)
	if !ok {
		s, err := c.session(ctx)
		if err != nil {
			return err
		}
		if known, err = s.typeName(ctx, column.Type); err != nil {
			return err
		}
	}
	return fits(ctx, compute.Column{Name: column.Name, Type: known})
}

func (c *inputCheck) fitsJSON(ctx context.Context, column compute.Column, o jsonOptions) error {
	if _, common := commonType(column.Type); common {
		return nil
	}
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	t, err := s.jsonType(ctx, column)
	if err != nil {
		return err
	}
	if t.plain() {
		_, err = o.fit("c", t.name)
	} else {
		_, err = t.nested(o, "c")
	}
	return err
}

// session opens DuckDB, which takes longer than all else here.
func (c *inputCheck) session(ctx context.Context) (*session, error) {
	if c.ses == nil {
		opened, err := Engine{}.Open(ctx, compute.Settings{Threads: 1})
		if err != nil {
			return nil, err
		}
		c.ses = opened.(*session)
	}
	return c.ses, nil
}

func unknownFormat(format string) *compute.Error {
	return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("format: %q is not known", format), Hint: didYouMean(format, []string{"csv", "json", "parquet", "delta", rowsFormat})}
}

// sameName refuses a column that has the name of an earlier one; nil: it has not.
func sameName(earlier []compute.Column, c compute.Column) *compute.Error {
	for _, other := range earlier {
		if strings.EqualFold(c.Name, other.Name) {
			return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("columns: %s and %s have the same name", other.Name, c.Name), Hint: "names are compared without regard to case"}
		}
	}
	return nil
}
