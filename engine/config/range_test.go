package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
)

func TestRange(t *testing.T) {
	for _, c := range []struct {
		name     string
		typ      Type
		from, to string
		every    Every
		want     string
	}{
		{"one day", TypeDate, "2026-01-31", "2026-01-31", "", "2026-01-31"},
		{"another spelling", TypeDate, "20260131", "2026-02-02", EveryDay, "2026-01-31 2026-02-01 2026-02-02"},
		{"a leap day", TypeDate, "2024-02-28", "2024-03-01", EveryDay, "2024-02-28 2024-02-29 2024-03-01"},
		{"no leap day", TypeDate, "2026-02-28", "2026-03-01", EveryDay, "2026-02-28 2026-03-01"},
		{"no leap day in 2100", TypeDate, "2100-02-28", "2100-03-01", EveryDay, "2100-02-28 2100-03-01"},
		{"the end of a year", TypeDate, "2025-12-31", "2026-01-01", EveryDay, "2025-12-31 2026-01-01"},
		{"weeks that do not meet the end", TypeDate, "2026-01-01", "2026-01-20", EveryWeek, "2026-01-01 2026-01-08 2026-01-15"},
		{"month ends", TypeDate, "2023-12-31", "2024-04-30", EveryMonth, "2023-12-31 2024-01-31 2024-02-29 2024-03-31 2024-04-30"},
		{"the 30th", TypeDate, "2026-01-30", "2026-03-30", EveryMonth, "2026-01-30 2026-02-28 2026-03-30"},
		{"months", TypeMonth, "2025-11", "2026-02", "", "2025-11 2025-12 2026-01 2026-02"},
		{"hours over midnight of a leap day", TypeHour, "2024-02-29T22", "2024-03-01T01", "", "2024-02-29T22 2024-02-29T23 2024-03-01T00 2024-03-01T01"},
		{"hours where clocks elsewhere are changed", TypeHour, "2026-03-29T00", "2026-03-29T03", EveryHour, "2026-03-29T00 2026-03-29T01 2026-03-29T02 2026-03-29T03"},
		{"hours with a zone", TypeHour, "2026-01-01T01:00+02:00", "2026-01-01T00", EveryHour, "2025-12-31T23 2026-01-01T00"},
		{"one hour of each day", TypeHour, "2026-01-30T05", "2026-02-01T04", EveryDay, "2026-01-30T05 2026-01-31T05"},
		{"timestamps", TypeTimestamp, "2026-01-31T05:06:07.5", "2026-02-02T05:06:07.4", "", "2026-01-31T05:06:07.5 2026-02-01T05:06:07.5"},
		{"timestamps an hour", TypeTimestamp, "2026-01-31 23:30:00", "2026-02-01 00:30:00", EveryHour, "2026-01-31T23:30:00 2026-02-01T00:30:00"},
		{"the last years", TypeDate, "9999-12-30", "9999-12-31", EveryDay, "9999-12-30 9999-12-31"},
	} {
		got, _, err := Variable{Name: "dt", Type: c.typ}.Range(c.from, c.to, c.every)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// Every value of a range is one of the type in its one spelling, and each is there once.
func TestRangeOfYearsOfHours(t *testing.T) {
	got, every, err := Variable{Name: "dt", Type: TypeHour}.Range("2023-12-31T23", "2025-01-01T00", "")
	if err != nil || every != EveryHour || len(got) != 366*24+2 {
		t.Fatalf("%d values every %s, %v", len(got), every, err)
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Error("they are not in order, or not each once")
	}
	for _, v := range got {
		if n, err := TypeHour.normalise(v, nil); err != nil || n != v {
			t.Fatalf("%s: %s, %v", v, n, err)
		}
	}
}

func TestC049_RangeIsRefused(t *testing.T) {
	at := problem.Pos{File: "p.yaml", Line: 3, Col: 3}
	for _, c := range []struct {
		typ      Type
		from, to string
		every    Every
		code     problem.Code
		says     string
	}{
		{TypeDate, "2026-01-02", "2026-01-01", "", problem.Usage, "--from 2026-01-02 is later than --to 2026-01-01"},
		{TypeDate, "2026-02-30", "2026-03-01", "", problem.Usage, `--from: "2026-02-30" is not a date that exists (give --from 2026-01-31; dt is declared at p.yaml:3:3)`},
		{TypeDate, "2026-02-01", "soon", "", problem.Usage, `--to: "soon" is not a date that exists`},
		{TypeDate, "", "2026-02-01", "", problem.Usage, `--from: "" is not a date that exists`},
		{TypeHour, "2026-02-01", "2026-02-02", "", problem.Usage, "give --from 2026-01-31T05"},
		{TypeDate, "2026-02-01", "2026-02-02", EveryHour, problem.Usage, "--every hour is no step between values of dt, which is of type date (known: day, week, month)"},
		{TypeMonth, "2026-02", "2026-03", EveryDay, problem.Usage, "(known: month)"},
		{TypeDate, "2026-02-01", "2026-02-02", "fortnight", problem.Usage, "--every fortnight is no step"},
		{TypeText, "a", "b", "", problem.ConfigInvalid, "p.yaml:3:3: the variable dt is of type text, and a range needs a type of time (declare it as type: date, month, hour or timestamp)"},
		{TypeHour, "0026-01-01T00", "2026-01-01T00", "", problem.Usage, "has more than 100000 values (is the year right?)"},
	} {
		got, _, err := Variable{Name: "dt", Type: c.typ, Pos: at}.Range(c.from, c.to, c.every)
		var p *problem.Problem
		if !errors.As(err, &p) || p.Code != c.code || !strings.Contains(p.Error(), c.says) || got != nil {
			t.Errorf("%s %s %s %s: %v, %v", c.typ, c.from, c.to, c.every, got, err)
		}
	}
}
