package runstate

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// localTime is how times are written by java.time: seconds and their fraction may be missing, and so may the zone.
var localTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$`)

// utc gives a time in UTC. One without a zone is taken to be in zone; local tells that this was so.
func utc(text string, zone *time.Location) (at time.Time, local bool, err error) {
	m := localTime.FindStringSubmatch(text)
	if m == nil {
		return at, false, fmt.Errorf("%q is no time", text)
	}
	if m[2] == "" {
		m[2] = ":00"
	}
	if m[3] != "" {
		at, err = time.Parse(time.RFC3339Nano, m[1]+m[2]+m[3])
	} else {
		at, err = time.ParseInLocation("2006-01-02T15:04:05", m[1]+m[2], zone)
	}
	if err != nil {
		return at, false, fmt.Errorf("%q is no time", text)
	}
	return at.UTC(), m[3] == "", nil
}

// isoDuration is hours, minutes and seconds, as java.time and this package write them.
var isoDuration = regexp.MustCompile(`^PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d{1,9})?)S)?$`)

// parseDuration reads an ISO 8601 duration of hours, minutes and seconds.
func parseDuration(text string) (time.Duration, error) {
	m := isoDuration.FindStringSubmatch(text)
	if m == nil || text == "PT" {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	sum := new(big.Rat)
	for i, seconds := range []int64{3600, 60, 1} {
		if part, ok := new(big.Rat).SetString(m[i+1]); ok {
			sum.Add(sum, part.Mul(part, new(big.Rat).SetInt64(seconds)))
		}
	}
	sum.Mul(sum, new(big.Rat).SetInt64(int64(time.Second)))
	if !sum.IsInt() || !sum.Num().IsInt64() {
		return 0, fmt.Errorf("%q is too long a duration", text)
	}
	return time.Duration(sum.Num().Int64()), nil
}

// DurationText writes a duration as ISO 8601 has it, as PT1M3.5S.
func DurationText(d time.Duration) string {
	text := d.String() // as 1h2m3.5s, 2ms, 0s
	if d.Abs() < time.Second {
		text = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.9f", d.Seconds()), "0"), ".") + "s"
	}
	return "PT" + strings.ToUpper(text)
}

var errNoText = errors.New("it is no text")
