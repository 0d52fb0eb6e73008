package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// What every workbook has (ECMA-376 part 1).
const (
	xmlHead       = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainSpace     = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	officeSpace   = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	relationships = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	contentTypes  = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>`
)

// Styles, by their place in cellXfs.
const (
	styleNone = iota
	styleHeader
	styleDate
	styleMoment
	styleClock
)

const styles = xmlHead + `<styleSheet xmlns="` + mainSpace + `"><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss.000"/><numFmt numFmtId="166" formatCode="hh:mm:ss.000"/></numFmts>` +
	`<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
	`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>` +
	`<cellXfs count="5"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/><xf xfId="0" numFmtId="164" applyNumberFormat="1"/><xf xfId="0" numFmtId="165" applyNumberFormat="1"/><xf xfId="0" numFmtId="166" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`

// mostText is how many UTF-16 units a cell holds.
const mostText = 32_767

// exactDigits is how many digits of a number Excel keeps; one with more is written as text, so that none is lost.
const exactDigits = 15

// appendCell appends a value. What a cell cannot hold exactly as a number or a date is text.
func appendCell(to []byte, c *sdk.Column, row int) ([]byte, error) {
	if c.Null(row) {
		return append(to, "<c/>"...), nil
	}
	switch c.Kind {
	case sdk.Bool:
		v := byte('0')
		if c.Bool(row) {
			v = '1'
		}
		return append(append(append(to, `<c t="b"><v>`...), v), "</v></c>"...), nil
	case sdk.Int, sdk.Uint, sdk.Decimal, sdk.Float:
		begin := len(to)
		to = c.AppendText(append(to, "<c><v>"...), row)
		if number := to[begin+len("<c><v>"):]; c.Kind == sdk.Float && !isFinite(c.Float(row)) || c.Kind != sdk.Float && digits(number) > exactDigits {
			return appendInline(to[:begin], styleNone, append([]byte(nil), number...)), nil
		}
		return append(to, "</v></c>"...), nil
	case sdk.Date, sdk.Time, sdk.Timestamp:
		if serial, style, ok := serialOf(c, row); ok {
			to = strconv.AppendInt(append(to, `<c s="`...), int64(style), 10)
			to = strconv.AppendFloat(append(to, `"><v>`...), serial, 'f', -1, 64)
			return append(to, "</v></c>"...), nil
		}
	}
	text := c.AppendText(nil, row)
	if c.Kind == sdk.Text {
		text = c.Bytes(row)
	}
	if len(text) > mostText && units(text) > mostText {
		return nil, &abi.Failure{Code: "value", Message: fmt.Sprintf("column %s: a text has %d characters; a cell has at most %d", c.Name, units(text), mostText), Hint: "cut it in a step"}
	}
	return appendInline(to, styleNone, text), nil
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func digits(number []byte) (n int) {
	for _, b := range number {
		if '0' <= b && b <= '9' && (n > 0 || b != '0') {
			n++
		}
	}
	return n
}

func units(text []byte) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if n++; r > 0xFFFF {
			n++
		}
		text = text[size:]
	}
	return n
}

// Days of Excel's calendar, which counts from 1900 and has a 29 February in that year: from March on it agrees with ours.
const (
	epochDay  = 25_569 // 1970-01-01
	firstDay  = 61     // 1900-03-01
	behindDay = 2_958_466
)

// serialOf gives a date or time as Excel counts it, in days. Not ok: it lies outside of that, or has parts of a millisecond.
func serialOf(c *sdk.Column, row int) (serial float64, style int, ok bool) {
	if c.Kind == sdk.Date {
		day := c.Int(row) + epochDay
		return float64(day), styleDate, firstDay <= day && day < behindDay
	}
	perSecond := int64(1)
	for range c.Digits {
		perSecond *= 10
	}
	day := 86_400 * perSecond
	days, clock := c.Int(row)/day, c.Int(row)%day
	if clock < 0 {
		days, clock = days-1, clock+day
	}
	if clock*1000%perSecond != 0 {
		return 0, 0, false
	}
	part := float64(clock) / float64(day)
	if c.Kind == sdk.Time {
		return part, styleClock, days == 0
	}
	days += epochDay
	return float64(days) + part, styleMoment, firstDay <= days && days < behindDay
}

// appendInline appends a text cell. It is never taken for a formula.
func appendInline(to []byte, style int, text []byte) []byte {
	to = append(to, `<c t="inlineStr"`...)
	if style != styleNone {
		to = append(strconv.AppendInt(append(to, ` s="`...), int64(style), 10), '"')
	}
	to = append(to, `><is><t xml:space="preserve">`...)
	to = appendXML(to, text)
	return append(to, "</t></is></c>"...)
}

// appendXML appends a text. A character that XML does not have is _xHHHH_, and what looks so is escaped likewise (ECMA-376 part 1,
// 22.9.2.19).
func appendXML(to, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '&':
			to = append(to, "&amp;"...)
		case r == '<':
			to = append(to, "&lt;"...)
		case r == '>':
			to = append(to, "&gt;"...)
		case r == '"':
			to = append(to, "&quot;"...)
		case r < 0x20 && r != '\n' && r != '\t', r == 0xFFFE, r == 0xFFFF, r == '_' && escapes(text):
			to = fmt.Appendf(to, "_x%04X_", r)
		default:
			to = append(to, text[:size]...)
		}
		text = text[size:]
	}
	return to
}

// escapes tells whether a text begins as _xHHHH_.
func escapes(text []byte) bool {
	return len(text) >= 7 && text[1] == 'x' && text[6] == '_' && len(bytes.Trim(text[2:6], "0123456789abcdefABCDEF")) == 0
}
