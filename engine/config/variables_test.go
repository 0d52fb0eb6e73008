package config

import (
	"testing"
)

func TestVariables(t *testing.T) {
	given, other := "2026-01-31", "20260131"
	env := func() []string {
		return []string{"UBUNYE_VARIABLES__DT=20260130", "UBUNYE_VARIABLES__MIXED=env", "HOME=/home/x"}
	}
	const declared = `name: sales
variables:
  dt: date
  Mixed: {}
`
	tests := []struct {
		name     string
		variable string // declared beside dt and Mixed
		o        Options
		of       string
		want     Variable
	}{
		{"nothing", "", Options{}, "dt", Variable{Type: TypeDate}},
		{"--dt", "", Options{Dt: &given}, "dt", Variable{Type: TypeDate, Value: "2026-01-31", Set: true, Given: true}},
		{"--var dt", "", Options{Vars: map[string]string{"dt": other}}, "dt", Variable{Type: TypeDate, Value: "2026-01-31", Set: true, Given: true}},
		{"--dt and --var dt, the same", "", Options{Dt: &given, Vars: map[string]string{"dt": given}}, "dt", Variable{Type: TypeDate, Value: "2026-01-31", Set: true, Given: true}},
		{"environment", "", Options{Env: env}, "dt", Variable{Type: TypeDate, Value: "2026-01-30", Set: true, Given: true}},
		{"flag over environment", "", Options{Env: env, Dt: &given}, "dt", Variable{Type: TypeDate, Value: "2026-01-31", Set: true, Given: true}},
		{"environment, whatever the case", "", Options{Env: env}, "Mixed", Variable{Type: TypeText, Value: "env", Set: true, Given: true}},
		{"empty text is a value", "", Options{Vars: map[string]string{"Mixed": ""}}, "Mixed", Variable{Type: TypeText, Set: true, Given: true}},
		{"a value is not a template", "", Options{Vars: map[string]string{"Mixed": "{{ dt }}"}}, "Mixed", Variable{Type: TypeText, Value: "{{ dt }}", Set: true, Given: true}},
		{"default", "v: {default: eu}", Options{}, "v", Variable{Type: TypeText, Value: "eu", Set: true}},
		{"default of the environment is not given", `v: {default: "{{ env.HOME }}"}`, Options{Env: env}, "v", Variable{Type: TypeText, Value: "/home/x", Set: true}},
		{"default of an earlier variable", `v: {type: month, default: "{{ dt | date_format('%Y-%m') }}"}`, Options{Dt: &given}, "v", Variable{Type: TypeMonth, Value: "2026-01", Set: true}},
		{"int", "v: {type: int, default: -3}", Options{}, "v", Variable{Type: TypeInt, Value: "-3", Set: true}},
		{"decimal", "v: {type: decimal, default: 1.50}", Options{}, "v", Variable{Type: TypeDecimal, Value: "1.5", Set: true}},
		{"bool", "v: {type: bool, default: True}", Options{}, "v", Variable{Type: TypeBool, Value: "true", Set: true}},
		{"date", "v: {type: date, default: 2026-01-31}", Options{}, "v", Variable{Type: TypeDate, Value: "2026-01-31", Set: true}},
		{"hour", "v: {type: hour, default: 2026-01-31 05}", Options{}, "v", Variable{Type: TypeHour, Value: "2026-01-31T05", Set: true}},
		{"timestamp", "v: {type: timestamp, default: 2026-01-31T05:06:07+01:00}", Options{}, "v", Variable{Type: TypeTimestamp, Value: "2026-01-31T04:06:07", Set: true}},
		{"enum", "v: {type: enum, values: [NO, ON], default: NO}", Options{}, "v", Variable{Type: TypeEnum, Value: "NO", Set: true}},
		{"required and given", "v: {required: true}", Options{Vars: map[string]string{"v": "x"}}, "v", Variable{Type: TypeText, Value: "x", Set: true, Given: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, declared+"  "+tt.variable+smallTasks, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range p.Variables {
				if v.Name != tt.of {
					continue
				}
				want := tt.want
				want.Name, want.SQLType, want.Pos = v.Name, want.Type.sqlType(), v.Pos
				if v != want {
					t.Errorf("\n got %+v\nwant %+v", v, want)
				}
				return
			}
			t.Errorf("there is no variable %s in %+v", tt.of, p.Variables)
		})
	}
}
