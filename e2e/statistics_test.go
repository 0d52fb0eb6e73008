package e2e

import "testing"

// prunedRows are columns whose smallest and largest values are easy to get wrong: NaN and -0.0 beside other numbers, texts that
// are longer than what statistics keep, decimals of each size, numbers that are negative as signed ones, years before 1970.
const prunedRows = `SELECT i AS id,
  CASE WHEN i % 1000 = 7 THEN 'nan'::DOUBLE WHEN i % 1000 = 8 THEN 'inf'::DOUBLE ELSE (i - 5000) / 7.0 END AS dbl,
  CASE WHEN i < 3000 THEN CASE i % 2 WHEN 0 THEN '-0.0'::DOUBLE ELSE 0.0::DOUBLE END ELSE i END AS zero,
  CASE WHEN i < 2500 THEN '-0.0'::FLOAT WHEN i < 5000 THEN 0.0::FLOAT ELSE i END AS zeros,
  CASE WHEN i < 3000 THEN 'nan'::FLOAT ELSE i::FLOAT END AS nans,
  CAST(i - 5000 AS DECIMAL(9,2)) AS d9,
  CAST(i - 5000 AS DECIMAL(4,0)) AS d4,
  CAST((i - 5000) AS DECIMAL(18,4)) AS d18,
  CAST(i // 3334 - 1 AS DECIMAL(20,2)) AS d20,
  CAST((i - 5000)::HUGEINT * 1000000000000000000000000000 AS DECIMAL(38,5)) AS d38,
  (i - 5000)::HUGEINT * 1000000000000000000000000000 AS huge,
  CAST(18446744073709551615::UBIGINT - i AS UBIGINT) AS ub,
  CAST(i * 400000 AS UINTEGER) AS ui,
  CAST((i % 256) AS UTINYINT) AS ut,
  repeat('x', 300) || lpad(i::VARCHAR, 5, '0') AS long,
  repeat('ÿ😀', 40) || i AS uni,
  chr(CAST(32 + i AS INTEGER)) AS one,
  CAST(unhex(lpad(hex(i % 256), 2, '0')) AS BLOB) AS bin,
  DATE '1582-10-15' - 5000 + i::INTEGER AS d,
  TIMESTAMP '1970-01-01' + INTERVAL (i - 5000) SECOND + INTERVAL 1 MICROSECOND AS ts,
  CAST(TIMESTAMP '1970-01-01' + INTERVAL (i - 5000) SECOND AS TIMESTAMP_MS) AS tms,
  make_timestamp_ns((i - 5000) * 1000000001) AS tns,
  CAST(TIMESTAMP '1970-01-01' + INTERVAL (i - 5000) DAY AS TIMESTAMPTZ) AS tz,
  TIME '00:00:00' + INTERVAL (i) SECOND AS tm,
  i % 2 = 0 AND i > 5000 AS b,
  CASE WHEN i > 9000 THEN i END AS nul
FROM range(10000) t(i)
`

// C076: readers leave out row groups by their statistics: a filter finds every row all the same.
func TestC076_StatisticsLoseNoRow(t *testing.T) {
	p := newProject(t, `name: pruned
tasks:
  t:
    transform: {v: {sql_file: v.sql}}
    outputs: {v: {format: parquet, path: lake, options: {row_group_size: 2048}}}
`)
	p.write("v.sql", prunedRows)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	for _, reader := range []string{"pyarrow", "polars", "duckdb"} {
		same(t, reader+" does not find", foreign.read(t, map[string]any{"prune": reader, "path": p.path("lake")}), nil)
	}
	// As signed numbers: of unsigned ones, those below zero would be the largest.
	same(t, "what the statistics of d20 say", p.parquetSays("lake", `
at = f.schema_arrow.names.index("d20")
for g in map(f.metadata.row_group, range(f.metadata.num_row_groups)):
    s = g.column(at).statistics
    print(s.min, s.max)`), []string{"-1.00 -1.00", "-1.00 0.00", "0.00 0.00", "0.00 1.00", "1.00 1.00"})
}
