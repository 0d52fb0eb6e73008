package duckdb

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// localTime is the SQL of local time of a zone as a moment. DuckDB moves a time that a change to summer time leaves out, and
// takes one of the two that a change back makes; here both are NULL. The offsets of a day before and a day after are the only
// ones that the time can have, and it has those that lead back to it.
func localTime(text, zone string) string {
	return fmt.Sprintf("%q(%s, %s)", "moment in zone", text, literal(zone))
}

// zoneMacros are the functions of localTime.
var zoneMacros = []string{
	`CREATE MACRO IF NOT EXISTS "local time"(us, zone) AS epoch_us(timezone(zone, make_timestamptz(us)))`,
	`CREATE MACRO IF NOT EXISTS "moment of"(us, a, b, zone) AS CASE
		WHEN "local time"(a, zone) = us AND ("local time"(b, zone) <> us OR a = b) THEN make_timestamptz(a)
		WHEN "local time"(a, zone) <> us AND "local time"(b, zone) = us THEN make_timestamptz(b) END`,
	`CREATE MACRO IF NOT EXISTS "moment in zone"(t, zone) AS "moment of"(epoch_us(t),
		2 * epoch_us(t) - 86400000000 - "local time"(epoch_us(t) - 86400000000, zone),
		2 * epoch_us(t) + 86400000000 - "local time"(epoch_us(t) + 86400000000, zone), zone)`,
}

// checkTimes looks at the options about times of an input.
func (s *session) checkTimes(ctx context.Context, zone, dateFormat, timestampFormat string) error {
	if err := s.checkZone(ctx, zone); err != nil {
		return err
	}
	if err := s.checkFormat(ctx, "date_format", dateFormat); err != nil {
		return err
	}
	return s.checkFormat(ctx, "timestamp_format", timestampFormat)
}

// checkFormat looks that a strptime pattern is one, and reads a year: DuckDB would make up 1900.
func (s *session) checkFormat(ctx context.Context, option, format string) error {
	if format == "" {
		return nil
	}
	wrong := &compute.Error{Kind: compute.BadOption, Option: option, Hint: "write a pattern of strptime, as %d/%m/%Y or %d/%m/%Y %H:%M"}
	var ignored any
	err := s.conn.QueryRowContext(ctx, "SELECT try_strptime('', "+literal(format)+")").Scan(&ignored)
	if c := cancelled(ctx); c != nil {
		return c
	}
	switch {
	case err != nil:
		wrong.Message, wrong.Err = fmt.Sprintf("option %s: %q is no pattern: %s", option, format, parse(err).line()), err
	case !readsYear.MatchString(format):
		wrong.Message = fmt.Sprintf("option %s: %q reads no year", option, format)
	default:
		return nil
	}
	return wrong
}

// checkZone looks that a time zone is known, and makes what converts its times; empty: there is none.
func (s *session) checkZone(ctx context.Context, zone string) error {
	if zone == "" {
		return nil
	}
	var names []string
	known := false
	err := s.queryAll(ctx, "SELECT name FROM pg_timezone_names()", nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names, known = append(names, name), known || name == zone
		return err
	})
	for _, q := range zoneMacros {
		if err == nil && known {
			err = s.exec(ctx, q)
		}
	}
	switch {
	case err != nil:
		return s.fail(ctx, err, "reading the time zones failed")
	case !known:
		return &compute.Error{Kind: compute.BadOption, Option: "time_zone", Message: fmt.Sprintf("option time_zone: %q is no time zone", zone), Hint: didYouMean(zone, names)}
	}
	return nil
}
