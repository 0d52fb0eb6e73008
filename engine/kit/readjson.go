package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// fromJSON reads files of JSON lines. DuckDB's own reader takes a number of many digits for a double, so it is encoding/json that does.
func (k *kit) fromJSON(folder string, names []string, t table) (string, error) {
	var all bytes.Buffer
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return "", &broken{err}
		}
		if err := asTexts(bytes.NewReader(data), partOf(name), &all); err != nil {
			return "", wrongf("%s: %w", name, err)
		}
	}
	return k.fromTexts(all.Bytes(), t)
}

// fromLines gives SQL that reads rows which are JSON objects; fixed are further members of each.
func (k *kit) fromLines(from io.Reader, fixed map[string]any, t table) (string, error) {
	var all bytes.Buffer
	if err := asTexts(from, fixed, &all); err != nil {
		return "", wrongf("the author's reader: %w", err)
	}
	return k.fromTexts(all.Bytes(), t)
}

func (k *kit) fromTexts(rows []byte, t table) (string, error) {
	k.runs++
	path := filepath.Join(k.Scratch, fmt.Sprintf("rows%d.json", k.runs))
	if err := k.files.WriteNew(path, rows, 0o600); err != nil {
		return "", &broken{err}
	}
	columns := "id: 'VARCHAR', value: 'VARCHAR'"
	if t.part {
		columns += ", part: 'VARCHAR'"
	}
	return fmt.Sprintf("SELECT * FROM read_json('%s', format = 'newline_delimited', columns = {%s})", strings.ReplaceAll(path, "'", "''"), columns), nil
}

// asTexts makes each value of each object a text, as it is written, but null.
func asTexts(from io.Reader, fixed map[string]any, to io.Writer) error {
	in, out := json.NewDecoder(from), json.NewEncoder(to)
	in.UseNumber()
	for {
		row := map[string]any{}
		if err := in.Decode(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for name, value := range row {
			if _, text := value.(string); !text && value != nil {
				row[name] = fmt.Sprint(value)
			}
		}
		for name, value := range fixed {
			row[name] = value
		}
		if err := out.Encode(row); err != nil {
			return err
		}
	}
}

// partOf is the value of the column part that is in the name of a file's folder.
func partOf(name string) map[string]any {
	for element := range strings.SplitSeq(name, "/") {
		value, is := strings.CutPrefix(element, "part=")
		if !is {
			continue
		}
		if value == "__HIVE_DEFAULT_PARTITION__" {
			return map[string]any{"part": nil}
		}
		if text, err := url.PathUnescape(value); err == nil {
			value = text
		}
		return map[string]any{"part": value}
	}
	return nil
}
