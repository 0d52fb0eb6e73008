package database

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// copied is what PostgreSQL sends for rows of an integer and a text: a NULL in the second row, an extension in the header.
func copied() []byte {
	b := slices.Concat(pgSignature, []byte{0, 0, 0, 0, 0, 0, 0, 3, 'x', 'y', 'z'})
	row := func(values ...[]byte) {
		b = binary.BigEndian.AppendUint16(b, uint16(len(values)))
		for _, v := range values {
			if v == nil {
				b = append(b, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		}
	}
	row([]byte{0, 0, 0, 1}, []byte("eins"))
	row([]byte{0xff, 0xff, 0xff, 0xff}, nil)
	row([]byte{0, 0, 1, 0}, []byte{})
	return append(b, 0xff, 0xff)
}

// piecewise reads such rows in pieces.
func piecewise(t *testing.T, pieces [][]byte) (values []string, ended bool, err error) {
	t.Helper()
	integer, _ := pgType{oid: 23}.column()
	text, _ := pgType{oid: 25}.column()
	integer.name, text.name = "i", "t"
	ready := make(chan arrow.RecordBatch, 1)
	p := &pgCopy{batcher: newBatcher(t.Context(), []column{integer, text}, ready)}
	for _, piece := range pieces {
		given := slices.Clone(piece)
		if _, err := p.Write(given); err != nil {
			return nil, p.ended, err
		}
		clear(given) // the caller uses its memory again
	}
	if err := p.flush(); err != nil {
		return nil, p.ended, err
	}
	select {
	case batch := <-ready:
		return append(texts(batch.Column(0)), texts(batch.Column(1))...), p.ended, nil
	default:
		return nil, p.ended, nil
	}
}

// Rows are the same in whatever pieces they come, and rows that are cut are not taken for whole.
func TestCopyComesInPieces(t *testing.T) {
	all := copied()
	want := []string{"1", "-1", "256", "eins", "(null)", ""}
	for size := 1; size <= len(all); size++ {
		got, ended, err := piecewise(t, slices.Collect(slices.Chunk(all, size)))
		if err != nil || !ended || !slices.Equal(got, want) {
			t.Fatalf("pieces of %d bytes: %q, ended %t, %v", size, got, ended, err)
		}
	}
	for cut := range len(all) - 1 {
		if _, ended, _ := piecewise(t, [][]byte{all[:cut]}); ended {
			t.Errorf("the first %d of %d bytes count as whole", cut, len(all))
		}
	}
	for at, wrong := range map[int]byte{0: 'X', len(pgSignature) + 11 + 1: 3, len(pgSignature) + 11 + 5: 3} {
		broken := slices.Clone(all)
		broken[at] = wrong
		if got, ended, err := piecewise(t, [][]byte{broken}); err == nil && ended && slices.Equal(got, want) {
			t.Errorf("byte %d is wrong, and nothing is said", at)
		}
	}
}

// Numbers of every width and scale are what the server itself prints of them.
func TestNumericsAreWhatTheServerPrints(t *testing.T) {
	d := postgresAt(t, "")
	for _, c := range []struct{ width, scale int }{{1, 0}, {4, 4}, {5, 1}, {9, 3}, {18, 2}, {18, 18}, {19, 4}, {38, 0}, {38, 10}, {38, 37}, {38, 38}} {
		typ := fmt.Sprintf("numeric(%d,%d)", c.width, c.scale)
		// Digits of a hash, more of them from row to row, some of them zeros at the ends.
		query := fmt.Sprintf(`SELECT n, CAST(n AS text) AS s FROM (SELECT CAST((CASE WHEN g %% 2 = 0 THEN 1 ELSE -1 END)
 * CAST(left(regexp_replace(md5(CAST(g AS text)) || md5(CAST(-g AS text)) || repeat('0', 40), '[^0-9]', '', 'g'), 1 + g %% %[2]d) AS numeric)
 / power(CAST(10 AS numeric(50,0)), %[3]d) AS %[1]s) AS n FROM generate_series(1, 500) g) x`, typ, c.width, c.scale)
		columns, values := readAll(t, d, Rows{Query: query})
		if columns[0].Type != fmt.Sprintf("DECIMAL(%d,%d)", c.width, c.scale) || len(values[0]) != 500 {
			t.Fatalf("%s: %d rows of %s", typ, len(values[0]), columns[0].Type)
		}
		for i := range values[0] {
			if values[0][i] != values[1][i] {
				t.Errorf("%s: %s is read as %s", typ, values[1][i], values[0][i])
			}
		}
	}
}
