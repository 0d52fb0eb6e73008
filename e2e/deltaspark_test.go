package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// spark is a process of sparkdelta.py.
type spark struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// newSpark starts Spark, unless UBUNYE_SPARK=off says that there is none.
func newSpark(t *testing.T) *spark {
	t.Helper()
	if os.Getenv("UBUNYE_SPARK") == "off" {
		if os.Getenv("CI") == "true" {
			t.Fatal("UBUNYE_SPARK=off is for people without Java: where CI=true nothing is left out")
		}
		t.Skip("UBUNYE_SPARK=off")
	}
	program, err := filepath.Abs("../.venv-spark/bin/python")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Fatalf("%v: run these tests by `make test`, which installs Spark, or with UBUNYE_SPARK=off", err)
	}
	cmd := exec.Command(program, "sparkdelta.py")
	cmd.Env = append(os.Environ(), "TZ=UTC")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &spark{t: t, in: in, out: bufio.NewReader(out)}
}

func (s *spark) ask(request map[string]string) []string {
	s.t.Helper()
	if err := json.NewEncoder(s.in).Encode(request); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.t.Fatalf("Spark ended: %v", err)
	}
	var answer struct {
		Rows  []string
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		s.t.Fatal(err)
	}
	if answer.Error != "" {
		s.t.Fatalf("%v: %s", request, answer.Error)
	}
	return answer.Rows
}

// rows reads the project's table; moments are in UTC, and bear no zone.
func (s *spark) rows(p *project) []string {
	s.t.Helper()
	return s.ask(map[string]string{"read": p.path("lake/t")})
}

// sql runs a statement, in which @ is the project's table.
func (s *spark) sql(p *project, text string) {
	s.t.Helper()
	s.ask(map[string]string{"sql": strings.ReplaceAll(text, "@", "delta.`"+p.path("lake/t")+"`")})
}

// Spark reads what was written, in every mode and type, and after a checkpoint; what it appends, deletes and overwrites is read by
// this program, which goes on in tables that Spark has made too.
func TestDeltaAndSpark(t *testing.T) {
	s := newSpark(t)
	zoneless := func(rows []string) []string {
		for i := range rows {
			rows[i] = strings.ReplaceAll(rows[i], "+00:00", "")
		}
		return rows
	}
	t.Run("types and partitions", func(t *testing.T) {
		p := tableOf(t, "SELECT * FROM (VALUES\n"+
			"  (1, -1.50::DECIMAL(20,2), -0.01::DECIMAL(4,2), DATE '2026-01-01', TIMESTAMP '2026-01-01 01:02:03.456789', 'a/b=c:%20 d', [1, NULL], true, '🙂', 1::TINYINT, NULL::DOUBLE),\n"+
			"  (2, NULL, 0.00, NULL, NULL, NULL, NULL, NULL, '', NULL, 0.5),\n"+
			"  (3, 99999999999999999.99, 1.00, DATE '9999-12-31', TIMESTAMP '1969-12-31 23:59:59.999999', 'é日本''\"', [], false, repeat('😀', 40), -128, -1.5)\n"+
			") AS t(id, d, small, day, moment, p, l, ok, s, b, x)", "partition_by: [p], options: {compression: zstd}")
		p.values().must(t, 0)
		same(t, "rows", s.rows(p), zoneless(p.rows("lake/t")))
	})
	t.Run("checkpoint, deletions, merge", func(t *testing.T) {
		p := lakehouse(t, plainRow, "mode: merge, keys: [id]")
		p.days()
		for range 4 {
			for _, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
				p.loadDay(day).must(t, 0)
			}
		}
		want := together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo, dayThree)
		same(t, "rows", s.rows(p), want)
		s.sql(p, "ALTER TABLE @ SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
		s.sql(p, "INSERT INTO @ VALUES (20, DATE'2026-02-01', 'spark'), (21, DATE'2026-02-01', 'spark')")
		s.sql(p, "DELETE FROM @ WHERE id IN (1, 20)")
		p.write("2026-01-03.csv", "id,dt,v\n5,2026-01-03,new\n21,2026-02-01,ours\n")
		p.loadDay("2026-01-03").must(t, 0)
		want = together("id,dt,v\n2,2026-01-01,b\n5,2026-01-03,new\n21,2026-02-01,ours\n", dayTwo)
		same(t, "rows", s.rows(p), want)
		same(t, "rows by delta-rs", foreign.read(t, map[string]any{"kind": "delta-rs", "path": p.path("lake/t")}), want)
		s.sql(p, "INSERT OVERWRITE @ VALUES (30, NULL, 'all')")
		p.loadDay("2026-01-02").must(t, 0)
		same(t, "rows", s.rows(p), together("id,dt,v\n30,,all\n", dayTwo))
	})
	t.Run("a table that Spark has made", func(t *testing.T) {
		p := lakehouse(t, plainRow, "mode: append")
		p.days()
		s.sql(p, "CREATE TABLE @ (id BIGINT NOT NULL, dt DATE, v STRING) USING delta PARTITIONED BY (dt)")
		s.sql(p, "ALTER TABLE @ ADD CONSTRAINT small CHECK (id < 10 AND v IS NOT NULL)")
		s.sql(p, "INSERT INTO @ VALUES (9, NULL, 'spark')")
		p.loadDay("2026-01-01").must(t, 0)
		p.loadDay("2026-01-02").must(t, 4).says(t, "rows that do not meet the table's constraint small")
		want := together("id,dt,v\n9,,spark\n", dayOne)
		same(t, "rows", s.rows(p), want)
		same(t, "rows by delta-rs and DuckDB", p.rows("lake/t"), want)
	})
}
