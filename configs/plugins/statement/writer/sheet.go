package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// sheet is a statement while it is written. Money is counted in cents.
type sheet struct {
	account, currency string
	opening, balance  int64
	debits, credits   int64 // what went out, negative, and what came in
	count             int64
}

const (
	mostAccount = 34 // characters of an IBAN (ISO 13616)
	mostMoney   = 999_999_999_999_999
)

var (
	currency = regexp.MustCompile(`^[A-Z]{3}$`)
	money    = regexp.MustCompile(`^-?[0-9]{1,13}\.[0-9]{2}$`)
)

// read reads the options of an output.
func read(out abi.Output) (*sheet, []abi.Problem) {
	var problems []abi.Problem
	wrong := func(field, message, hint string) {
		problems = append(problems, abi.Problem{Field: field, Message: message, Hint: hint})
	}
	s := &sheet{account: out.Options["account"], currency: out.Options["currency"]}
	if n := utf8.RuneCountInString(s.account); n == 0 || n > mostAccount || strings.ContainsAny(s.account, "\r\n") {
		wrong("options.account", fmt.Sprintf("%q is no account of at most %d characters", s.account, mostAccount), "")
	}
	if !currency.MatchString(s.currency) {
		wrong("options.currency", fmt.Sprintf("%q is no currency of three letters", s.currency), "as EUR")
	}
	opening := out.Options["opening"]
	if opening == "" {
		opening = "0.00"
	}
	if !money.MatchString(opening) {
		wrong("options.opening", fmt.Sprintf("%q is no balance", opening), "with two digits after the point, as -12.50")
	} else {
		s.opening, _ = strconv.ParseInt(strings.Replace(opening, ".", "", 1), 10, 64) // at most 15 digits
		s.balance = s.opening
	}
	if len(out.SortBy) == 0 {
		wrong("sort_by", "the balance after a booking needs an order", "as in sort_by: [booked, reference]")
	}
	if len(out.PartitionBy) > 0 || out.TargetFileSize > 0 {
		wrong("partition_by", "a statement is one file", "remove partition_by and target_file_size")
	}
	return s, problems
}

// header appends the first line: H, account, currency, opening balance.
func (s *sheet) header(to []byte) []byte {
	to = append(to, 'H')
	to = appendLeft(to, s.account, mostAccount)
	to = append(to, s.currency...)
	return append(appendMoney(to, s.opening), '\n')
}

// booking appends a line: D, day, reference, text, amount, balance.
func (s *sheet) booking(to []byte, b *sdk.Batch, row int) ([]byte, error) {
	amount := &b.Columns[3]
	if b.Columns[0].Null(row) || amount.Null(row) {
		return nil, &abi.Failure{Code: "value", Message: "a booking has no day or no amount", Hint: "take it out in a step"}
	}
	cents, err := centsOf(amount, row)
	if err != nil {
		return nil, err
	}
	s.balance += cents
	if cents < 0 {
		s.debits += cents
	} else {
		s.credits += cents
	}
	if s.count++; s.balance > mostMoney || s.balance < -mostMoney || s.credits > mostMoney || s.debits < -mostMoney {
		return nil, &abi.Failure{Code: "value", Message: "the totals have more than 15 digits"}
	}
	to = append(to, 'D')
	to = b.Columns[0].AppendText(to, row)
	for i, width := range []int{1: 16, 2: 40} {
		if i == 0 {
			continue
		}
		text := b.Columns[i].AppendText(nil, row)
		if utf8.RuneCount(text) > width || bytes.ContainsAny(text, "\r\n") {
			return nil, &abi.Failure{Code: "value", Message: fmt.Sprintf("column %s: %q does not fit %d characters of a line", b.Columns[i].Name, text, width), Hint: "cut it in a step"}
		}
		to = appendLeft(to, string(text), width)
	}
	return append(appendMoney(appendMoney(to, cents), s.balance), '\n'), nil
}

// trailer appends the last line: T, bookings, what went out, what came in, closing balance.
func (s *sheet) trailer(to []byte) []byte {
	to = fmt.Appendf(append(to, 'T'), "%09d", s.count)
	return append(appendMoney(appendMoney(appendMoney(to, s.debits), s.credits), s.balance), '\n')
}

func centsOf(c *sdk.Column, row int) (int64, error) {
	high, low := c.Decimal(row)
	cents := int64(low)
	if high != cents>>63 || cents > mostMoney || cents < -mostMoney {
		return 0, &abi.Failure{Code: "value", Message: "the amount has more than 15 digits"}
	}
	return cents, nil
}

func appendLeft(to []byte, text string, width int) []byte {
	to = append(to, text...)
	return append(to, strings.Repeat(" ", width-utf8.RuneCountInString(text))...)
}

// appendMoney appends cents as C (or D, if negative) and 15 digits.
func appendMoney(to []byte, cents int64) []byte {
	sign := byte('C')
	if cents < 0 {
		sign, cents = 'D', -cents
	}
	return fmt.Appendf(append(to, sign), "%015d", cents)
}
