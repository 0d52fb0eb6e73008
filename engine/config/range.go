package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Every is the step between the values of a range.
type Every string

// The steps.
const (
	EveryHour  Every = "hour"
	EveryDay   Every = "day"
	EveryWeek  Every = "week"
	EveryMonth Every = "month"
)

// mostValues is the most values of a range; more are a slip in a year rather than a wish. Hours of eleven years fit.
const mostValues = 100_000

// steps are those that lead from one value of a type of time to another one; the first is the usual one.
func (t Type) steps() []Every {
	switch t {
	case TypeDate:
		return []Every{EveryDay, EveryWeek, EveryMonth}
	case TypeMonth:
		return []Every{EveryMonth}
	case TypeHour:
		return []Every{EveryHour, EveryDay, EveryWeek, EveryMonth}
	case TypeTimestamp:
		return []Every{EveryDay, EveryHour, EveryWeek, EveryMonth}
	}
	return nil
}

// Range lists the values of a variable from one to another, in order and in their one spelling; the last is to if
// a step meets it. every is the step; empty: the usual one of the type. Months are counted from the first value: from
// the 31st on they fall on the last day of those that are shorter. All is in UTC, so every day has 24 hours.
//
// The error is a *problem.Problem.
func (v Variable) Range(from, to string, every Every) ([]string, Every, error) {
	steps := v.Type.steps()
	if steps == nil {
		return nil, "", &problem.Problem{Code: problem.ConfigInvalid, Pos: v.Pos,
			Message: fmt.Sprintf("the variable %s is of type %s, and a range needs a type of time", v.Name, v.Type),
			Hint:    "declare it as type: date, month, hour or timestamp"}
	}
	if every == "" {
		every = steps[0]
	}
	if !slices.Contains(steps, every) {
		return nil, "", usageOf(fmt.Sprintf("--every %s is no step between values of %s, which is of type %s", every, v.Name, v.Type), "known: "+listOf(steps))
	}
	first, bad := v.end("--from", from)
	if bad != nil {
		return nil, "", bad
	}
	last, bad := v.end("--to", to)
	if bad != nil {
		return nil, "", bad
	}
	if last.Before(first) {
		return nil, "", usageOf(fmt.Sprintf("--from %s is later than --to %s", from, to), "a range goes from the earlier to the later")
	}
	var values []string
	for n := 0; ; n++ {
		at := every.after(first, n)
		if at.After(last) {
			return values, every, nil
		}
		if n == mostValues {
			return nil, "", usageOf(fmt.Sprintf("--from %s --to %s has more than %d values", from, to, mostValues), "is the year right?")
		}
		values = append(values, at.Format(v.Type.layout()))
	}
}

// end reads one end of a range.
func (v Variable) end(flag, text string) (time.Time, *problem.Problem) {
	at, err := v.Type.time(text)
	if err != nil {
		return at, usageOf(fmt.Sprintf("%s: %s %s", flag, quote(text), err), fmt.Sprintf("give %s %s; %s is declared at %s", flag, v.Type.example(), v.Name, v.Pos))
	}
	return at, nil
}

// after is the time n steps after first.
func (e Every) after(first time.Time, n int) time.Time {
	switch e {
	case EveryHour:
		return first.Add(time.Duration(n) * time.Hour)
	case EveryWeek:
		return first.AddDate(0, 0, 7*n)
	case EveryMonth:
		// AddDate would carry the 31st of a month of 30 days into the next one.
		at := first.AddDate(0, n, 1-first.Day())
		lastDay := at.AddDate(0, 1, -1).Day()
		return at.AddDate(0, 0, min(first.Day(), lastDay)-1)
	}
	return first.AddDate(0, 0, n)
}

func listOf(steps []Every) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

func usageOf(message, hint string) *problem.Problem {
	return &problem.Problem{Code: problem.Usage, Message: message, Hint: hint}
}

// IsTime tells whether a range may go over values of the type.
func (t Type) IsTime() bool { return t.layout() != "" }
