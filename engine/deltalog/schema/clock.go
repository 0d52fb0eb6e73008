package schema

import (
	"strconv"
	"strings"
	"time"
)

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
)

// numbers reads a text of digits between separators, as "2026-01-31".
func numbers(text, separator string, count int) ([]int, bool) {
	parts := strings.Split(text, separator)
	if len(parts) != count {
		return nil, false
	}
	all := make([]int, count)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, false
		}
		all[i] = int(n)
	}
	return all, true
}

// dateOf reads a date as days since 1970.
func dateOf(text string) (int64, bool) {
	year, rest := 1, text
	if cut, ok := strings.CutPrefix(text, "-"); ok {
		year, rest = -1, cut
	} else {
		rest = strings.TrimPrefix(text, "+")
	}
	n, ok := numbers(rest, "-", 3)
	if !ok || n[0] > 999_999 || n[1] < 1 || n[1] > 12 || n[2] < 1 {
		return 0, false
	}
	day := time.Date(year*n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	if day.Day() != n[2] {
		return 0, false // 31 February is not 3 March
	}
	return floorDiv(day.Unix(), secondsPerDay), true
}

// instantOf reads a date and a time of day as microseconds since 1970. One without a zone is a wall clock of zone; one
// with a zone only goes if zoned.
func instantOf(text string, zone *time.Location, zoned bool) (int64, bool) {
	at := strings.IndexAny(text, " T")
	if at < 0 {
		text, at = text+" 00:00:00", len(text)
	}
	days, ok := dateOf(text[:at])
	if !ok {
		return 0, false
	}
	clock, offset, hasZone, ok := cutZone(text[at+1:])
	if !ok || hasZone && !zoned {
		return 0, false
	}
	micros, ok := clockOf(clock)
	if !ok {
		return 0, false
	}
	seconds := days * secondsPerDay
	if !hasZone && zone != nil {
		// The wall clock's own fields, so that the zone's rules of that day hold.
		wall := time.Unix(seconds+micros/microsPerSecond, 0).UTC()
		there := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
		return there.Unix()*microsPerSecond + micros%microsPerSecond, true
	}
	return (seconds-offset)*microsPerSecond + micros, true
}

// cutZone cuts Z or an offset as +01:00 off a time of day; the offset is in seconds.
func cutZone(text string) (clock string, offset int64, found, ok bool) {
	if clock, ok := strings.CutSuffix(text, "Z"); ok {
		return clock, 0, true, true
	}
	at := strings.LastIndexAny(text, "+-")
	if at < 0 {
		return text, 0, false, true
	}
	digits := strings.ReplaceAll(text[at+1:], ":", "")
	if len(digits) == 2 {
		digits += "00"
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || len(digits) != 4 || n%100 > 59 || n/100 > 18 {
		return "", 0, false, false
	}
	offset = int64(n/100*3600 + n%100*60)
	if text[at] == '-' {
		offset = -offset
	}
	return text[:at], offset, true, true
}

// clockOf reads a time of day, with up to nine digits after the second, as microseconds. Digits below them are lost.
func clockOf(text string) (int64, bool) {
	text, part, hasPart := strings.Cut(text, ".")
	n, ok := numbers(text, ":", 3)
	if !ok || n[0] > 23 || n[1] > 59 || n[2] > 59 {
		return 0, false
	}
	micros := int64(n[0]*3600+n[1]*60+n[2]) * microsPerSecond
	if hasPart {
		if len(part) == 0 || len(part) > 9 || strings.Trim(part, "0123456789") != "" {
			return 0, false
		}
		digits, _ := strconv.Atoi((part + "000000")[:6])
		micros += int64(digits)
	}
	return micros, true
}

func dateText(days int64) string {
	y, m, d := time.Unix(days*secondsPerDay, 0).UTC().Date()
	return yearText(y) + "-" + pad(int(m), 2) + "-" + pad(d, 2)
}

func yearText(year int) string {
	if year < 0 {
		return "-" + pad(-year, 4)
	}
	return pad(year, 4)
}

// clockText gives microseconds since 1970 as a date and a time of day with so many digits after the second; none if they
// are zeros and may be left out.
func clockText(micros int64, between string, digits int, leaveOut bool) string {
	seconds := floorDiv(micros, microsPerSecond)
	part := pad(int(micros-seconds*microsPerSecond), 6)[:digits]
	t := time.Unix(seconds, 0).UTC()
	text := dateText(floorDiv(seconds, secondsPerDay)) + between + pad(t.Hour(), 2) + ":" + pad(t.Minute(), 2) + ":" + pad(t.Second(), 2)
	if leaveOut && strings.Trim(part, "0") == "" {
		return text
	}
	return text + "." + part
}

func pad(n, width int) string {
	text := strconv.Itoa(n)
	return strings.Repeat("0", max(width-len(text), 0)) + text
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
