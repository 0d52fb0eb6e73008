package config

import "testing"

func TestC103_Normalise(t *testing.T) {
	tests := []struct {
		typ  Type
		text string
		want string // empty: refused
	}{
		{TypeText, "2026-01-01", "2026-01-01"}, {TypeText, " a\nb ", " a\nb "}, {TypeText, "a\xff", ""},
		{TypeInt, "12", "12"}, {TypeInt, "+7", "7"}, {TypeInt, "-0", "0"}, {TypeInt, "007", "7"}, {TypeInt, "010", "10"},
		{TypeInt, "9223372036854775807", "9223372036854775807"}, {TypeInt, "9223372036854775808", ""},
		{TypeInt, "1_000", ""}, {TypeInt, "0x10", ""}, {TypeInt, "1.0", ""}, {TypeInt, "1e3", ""}, {TypeInt, " 1", ""}, {TypeInt, "", ""},
		{TypeDecimal, "1.50", "1.5"}, {TypeDecimal, "+01.0", "1"}, {TypeDecimal, "-0.0", "0"}, {TypeDecimal, "-0.10", "-0.1"},
		{TypeDecimal, "12345678901234567890123456789.123456789", "12345678901234567890123456789.123456789"},
		{TypeDecimal, "123456789012345678901234567890", ""}, {TypeDecimal, "0.1234567891", ""}, {TypeDecimal, "0.1234567890", "0.123456789"},
		{TypeDecimal, "1,5", ""}, {TypeDecimal, "1.", ""}, {TypeDecimal, ".5", ""}, {TypeDecimal, "1e3", ""}, {TypeDecimal, "--1", ""}, {TypeDecimal, "", ""}, {TypeDecimal, "-", ""},
		{TypeBool, "true", "true"}, {TypeBool, "false", "false"}, {TypeBool, "True", ""}, {TypeBool, "yes", ""}, {TypeBool, "1", ""},
		{TypeDate, "2026-01-31", "2026-01-31"}, {TypeDate, "20260131", "2026-01-31"}, {TypeDate, "2024-02-29", "2024-02-29"},
		{TypeDate, "2026-02-29", ""}, {TypeDate, "2026-1-1", ""}, {TypeDate, "2026-01-01 01", ""}, {TypeDate, "2026-01-01T00:00:00Z", ""},
		{TypeDate, "0000-01-01", ""}, {TypeDate, "01/02/2026", ""}, {TypeDate, "", ""},
		{TypeMonth, "2026-01", "2026-01"}, {TypeMonth, "202601", "2026-01"}, {TypeMonth, "2026-13", ""}, {TypeMonth, "2026-01-01", ""},
		{TypeHour, "2026-01-31T05", "2026-01-31T05"}, {TypeHour, "2026-01-31 05", "2026-01-31T05"}, {TypeHour, "2026-01-31T05:00", "2026-01-31T05"},
		{TypeHour, "2026-01-31T05:00:00Z", "2026-01-31T05"}, {TypeHour, "2026-01-01T00:00:00+01:00", "2025-12-31T23"},
		{TypeHour, "2026-01-31T05:30", ""}, {TypeHour, "2026-01-31T24", ""}, {TypeHour, "2026-01-31", ""}, {TypeHour, "0001-01-01T00:00+01:00", ""},
		{TypeTimestamp, "2026-01-31T05:06:07", "2026-01-31T05:06:07"}, {TypeTimestamp, "2026-01-31 05:06", "2026-01-31T05:06:00"},
		{TypeTimestamp, "2026-01-31T05:06:07.500", "2026-01-31T05:06:07.5"}, {TypeTimestamp, "2026-01-31T05:06:07.1234567", ""},
		{TypeTimestamp, "2026-01-31T05:06:07.123456000", "2026-01-31T05:06:07.123456"}, {TypeTimestamp, "2026-01-31T05:06:07-02:30", "2026-01-31T07:36:07"},
		{TypeTimestamp, "2026-01-31", ""}, {TypeTimestamp, "2026-01-31T25:00:00", ""},
		{TypeEnum, "eu", "eu"}, {TypeEnum, "EU", ""}, {TypeEnum, "", ""},
	}
	for _, tt := range tests {
		got, err := tt.typ.normalise(tt.text, []string{"eu", "us"})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s %q: got %q, %v; want %q", tt.typ, tt.text, got, err, tt.want)
		}
		if err != nil {
			continue
		}
		if again, err := tt.typ.normalise(got, []string{"eu", "us"}); again != got || err != nil {
			t.Errorf("%s: the spelling %q is read as %q, %v", tt.typ, got, again, err)
		}
	}
}

func TestEachTypeIsComplete(t *testing.T) {
	want := map[Type]string{TypeText: "VARCHAR", TypeInt: "BIGINT", TypeDecimal: "DECIMAL(38,9)", TypeBool: "BOOLEAN", TypeDate: "DATE",
		TypeMonth: "VARCHAR", TypeHour: "VARCHAR", TypeTimestamp: "TIMESTAMP", TypeEnum: "VARCHAR"}
	if len(typeNames()) != len(want) {
		t.Errorf("%d types, want %d", len(typeNames()), len(want))
	}
	for _, name := range typeNames() {
		typ := Type(name)
		if got := typ.sqlType(); got != want[typ] {
			t.Errorf("%s is %s in SQL, want %s", typ, got, want[typ])
		}
		if got, err := typ.normalise(typ.example(), []string{typ.example()}); got != typ.example() || err != nil {
			t.Errorf("the example of %s is spelled %q, %v; want %q", typ, got, err, typ.example())
		}
	}
}
