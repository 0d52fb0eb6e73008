package sdk

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// Dates are those of the Gregorian calendar, which package time has too; it is too large for a module.
func TestAppendTextOfDates(t *testing.T) {
	for year := int64(-100_000); year < 100_000; year++ { // a day that differs in each of them
		days := year*365 + year%997
		c := &Column{Field: Field{Kind: Date}, rows: 1, data: binary.LittleEndian.AppendUint32(nil, uint32(int32(days)))}
		if got, want := string(c.AppendText(nil, 0)), time.Unix(days*86400, 0).UTC().Format(time.DateOnly); got != want {
			t.Fatalf("day %d: %s, want %s", days, got, want)
		}
	}
	for _, v := range []int64{0, -1, 1, math.MaxInt64, math.MinInt64, 86_399_999_999, 86_400_000_000, -86_400_000_000, 951_782_400_000_000, 1_500_000} {
		c := &Column{Field: Field{Kind: Timestamp, Digits: 6}, rows: 1, data: binary.LittleEndian.AppendUint64(nil, uint64(v))}
		if got, want := string(c.AppendText(nil, 0)), time.UnixMicro(v).UTC().Format("2006-01-02 15:04:05.999999999"); got != want {
			t.Errorf("%d µs: %s, want %s", v, got, want)
		}
	}
}
