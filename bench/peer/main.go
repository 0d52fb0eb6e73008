// Command peer does what a run of ubunye does with the same library, bare: no ledger, no staging, no
// plugin. It is what `make bench` measures against.
//
//	peer make CSV ROWS          writes the data
//	peer copy CSV FILE          the statement of the large case, as one COPY
//	peer small CSV FILE SYNCS   the statement of the trivial case, and SYNCS times a file written and synced
//	peer days FILE ROWS          writes rows of 8 columns in 20 days as Parquet
//	peer changed FILE ROWS       writes a tenth as many: every twentieth is there, and as many are new
//	peer partitions FILE DIR     copies them into a folder for each day
//	peer folders DIR N          makes the folders of N partitions
//	peer stage DIR N            writes a small file into each
//	peer land DIR DIR           renames them into folders of the other, between two syncfs; prints the nanoseconds
package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

const columns = "header = true, auto_detect = false, delim = ',', quote = '\"', columns = {'id': 'BIGINT', 'customer': 'BIGINT', 'amount': 'DECIMAL(12,2)', 'qty': 'INTEGER', 'country': 'VARCHAR', 'ordered': 'DATE'}"

const query = `SELECT *, amount * qty AS total, upper(country) AS market, date_trunc('month', ordered)::DATE AS month
FROM read_csv('%s', ` + columns + `) WHERE qty > 1`

const days = `SELECT i AS id, (hash(i) % 1000000)::BIGINT AS customer, ((hash(i * 7) % 1000000) / 100)::DECIMAL(12,2) AS amount, (1 + hash(i * 3) % 9)::INT AS qty,
	['de', 'fr', 'za', 'us', 'jp'][1 + (hash(i * 5) % 5)::INT] AS country, TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_seconds((hash(i * 11) % 31536000)::INT) AS ordered,
	(hash(i * 13) % 1000) / 8.0 AS weight, DATE '2026-01-01' + (i % 20)::INT AS day`

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want make CSV ROWS, copy CSV FILE, small CSV FILE SYNCS, folders DIR N, stage DIR N or land DIR DIR")
	}
	switch args[0] {
	case "folders", "stage":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		if args[0] == "stage" {
			return stage(args[1], n)
		}
		return folders(args[1], n)
	case "land":
		return land(args[1], args[2])
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec("SET preserve_insertion_order = true"); err != nil {
		return err
	}
	switch args[0] {
	case "make":
		_, err = db.Exec(fmt.Sprintf(`COPY (SELECT i AS id, hash(i) %% 1000000 AS customer, ((hash(i * 7) %% 1000000) / 100)::DECIMAL(12,2) AS amount,
			1 + hash(i * 3) %% 9 AS qty, ['de', 'fr', 'za', 'us', 'jp'][1 + (hash(i * 5) %% 5)::INT] AS country, DATE '2026-01-01' + (hash(i * 11) %% 365)::INT AS ordered
			FROM range(%s) t(i)) TO '%s' (FORMAT csv, HEADER)`, args[2], args[1]))
		return err
	case "days":
		_, err = db.Exec(fmt.Sprintf("COPY (%s FROM range(%s) t(i)) TO '%s' (FORMAT parquet)", days, args[2], args[1]))
		return err
	case "changed":
		_, err = db.Exec(fmt.Sprintf("COPY (%s FROM (SELECT 10 * j + (j %% 2) * %[2]s AS i FROM range(%[2]s // 10) r(j))) TO '%[3]s' (FORMAT parquet)", days, args[2], args[1]))
		return err
	case "partitions":
		_, err = db.Exec(fmt.Sprintf("COPY (FROM read_parquet('%s')) TO '%s' (FORMAT parquet, PARTITION_BY (day))", args[1], args[2]))
		return err
	case "copy", "small":
		statement := fmt.Sprintf("COPY ("+query+") TO '%s' (FORMAT parquet, COMPRESSION zstd)", args[1], args[2])
		if _, err := db.Exec(statement); err != nil {
			return err
		}
		if args[0] == "small" && len(args) == 4 {
			return syncs(filepath.Dir(args[2]), args[3])
		}
		return nil
	}
	return fmt.Errorf("%q is not known", args[0])
}

// syncs writes and syncs a small file so many times.
func syncs(dir, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("sync-%d", i)))
		if err != nil {
			return err
		}
		if _, err := f.WriteString("x"); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
