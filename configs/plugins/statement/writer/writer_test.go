package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

func TestTotals(t *testing.T) {
	s, problems := read(abi.Output{SortBy: []string{"booked"}, Options: map[string]string{"account": "DE02", "currency": "EUR", "opening": "-10.00"}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"r": sdktest.Table([]sdk.Field{
		{Name: "booked", Kind: sdk.Date}, {Name: "reference", Kind: sdk.Text}, {Name: "text", Kind: sdk.Text}, {Name: "amount", Kind: sdk.Decimal, Precision: 15, Scale: 2}},
		[][]any{{time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "a1", "Salary", "1500.00"}, {time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC), nil, "Größe", "-0.05"}})}}
	rows, err := h.Rows(abi.RowsRequest{Relation: "r"})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := s.write(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := "HDE02" + strings.Repeat(" ", 30) + "EURD000000000001000\n" +
		"D2026-01-02a1" + strings.Repeat(" ", 14) + "Salary" + strings.Repeat(" ", 34) + "C000000000150000C000000000149000\n" +
		"D2026-01-03" + strings.Repeat(" ", 16) + "Größe" + strings.Repeat(" ", 35) + "D000000000000005C000000000148995\n" +
		"T000000002D000000000000005C000000000150000C000000000148995\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func TestWhatIsNoStatement(t *testing.T) {
	for field, out := range map[string]abi.Output{
		"options.account":  {SortBy: []string{"a"}, Options: map[string]string{"currency": "EUR"}},
		"options.currency": {SortBy: []string{"a"}, Options: map[string]string{"account": "1", "currency": "euro"}},
		"options.opening":  {SortBy: []string{"a"}, Options: map[string]string{"account": "1", "currency": "EUR", "opening": "1.5"}},
		"sort_by":          {Options: map[string]string{"account": "1", "currency": "EUR"}},
	} {
		if _, problems := read(out); len(problems) != 1 || problems[0].Field != field {
			t.Errorf("%s: %+v", field, problems)
		}
	}
}
