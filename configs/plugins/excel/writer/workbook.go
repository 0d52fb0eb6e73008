package main

import (
	"archive/zip"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Limits of a workbook, from "Excel specifications and limits".
const (
	mostRows    = 1_048_576 // of a sheet, with its header
	mostColumns = 16_384
	mostName    = 31 // characters of a sheet's name
)

// workbook writes the parts of a workbook one after the other, as ECMA-376 part 2 packs them into a ZIP file.
type workbook struct {
	zip    *zip.Writer
	fields []sdk.Field
	by     int // the column whose values are sheets; -1: there is one sheet
	sheets []string
	seen   map[string]bool // names of sheets in lower case
	part   io.Writer       // the sheet that is being written; nil: none is
	value  string          // that makes it
	rows   int             // of it
	total  int64
	text   []byte // what is not written yet
}

func newWorkbook(to io.Writer, fields []sdk.Field, by int) *workbook {
	return &workbook{zip: zip.NewWriter(to), fields: fields, by: by, seen: map[string]bool{}}
}

// noValue is the sheet of rows in which the column is NULL.
const noValue = "(none)"

// add writes a row. Those of a sheet come one after the other.
func (w *workbook) add(b *sdk.Batch, row int) error {
	value := "Sheet1"
	if w.by >= 0 {
		if value = string(b.Columns[w.by].AppendText(nil, row)); b.Columns[w.by].Null(row) {
			value = noValue
		}
	}
	if w.part == nil || value != w.value {
		if err := w.begin(value); err != nil {
			return err
		}
	}
	if w.rows == mostRows {
		return &abi.Failure{Code: "size", Message: fmt.Sprintf("the sheet %q has more rows than the %d that Excel can open", w.value, mostRows), Hint: "make sheets of the values of a column (sheet_by), or batches that are smaller"}
	}
	w.text = append(w.text, "<row>"...)
	for i := range b.Columns {
		if i == w.by {
			continue
		}
		var err error
		if w.text, err = appendCell(w.text, &b.Columns[i], row); err != nil {
			return err
		}
	}
	w.text = append(w.text, "</row>\n"...)
	w.rows++
	w.total++
	if len(w.text) > 64<<10 {
		return w.flush()
	}
	return nil
}

func (w *workbook) flush() error {
	if w.part == nil || len(w.text) == 0 {
		return nil
	}
	_, err := w.part.Write(w.text)
	w.text = w.text[:0]
	return err
}

// begin begins a sheet with its header.
func (w *workbook) begin(value string) error {
	if err := w.end(); err != nil {
		return err
	}
	if err := w.checkSheet(value); err != nil {
		return err
	}
	w.sheets, w.value, w.rows = append(w.sheets, value), value, 1
	var err error
	if w.part, err = w.zip.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", len(w.sheets))); err != nil {
		return err
	}
	w.text = append(w.text, xmlHead+`<worksheet xmlns="`+mainSpace+`"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`+"\n<row>"...)
	for i, f := range w.fields {
		if i != w.by {
			w.text = appendInline(w.text, styleHeader, []byte(f.Name))
		}
	}
	w.text = append(w.text, "</row>\n"...)
	return nil
}

// checkSheet refuses a name that Excel would call damage.
func (w *workbook) checkSheet(value string) error {
	wrong := func(format string, args ...any) error {
		return &abi.Failure{Code: "sheet", Message: fmt.Sprintf(format, args...), Hint: "make names that a sheet can have in a step"}
	}
	columns := len(w.fields)
	if w.by >= 0 {
		columns--
	}
	switch lower := strings.ToLower(value); {
	case columns > mostColumns:
		return wrong("the rows have %d columns; a sheet has at most %d", columns, mostColumns)
	case value == "" || utf8.RuneCountInString(value) > mostName || strings.ContainsAny(value, `[]:*?/\`) || strings.HasPrefix(value, "'") || strings.HasSuffix(value, "'") || lower == "history":
		return wrong("%q cannot name a sheet: that has 1 to %d characters, none of them []:*?/\\, no quote at an end, and is not History", value, mostName)
	case w.seen[lower]:
		return wrong("two sheets would be named %q, but for upper and lower case", value)
	default:
		w.seen[lower] = true
	}
	return nil
}

// end ends the sheet that is being written, if one is.
func (w *workbook) end() error {
	if w.part == nil {
		return nil
	}
	w.text = append(w.text, "</sheetData></worksheet>"...)
	err := w.flush()
	w.part = nil
	return err
}

// close writes what names the sheets. A workbook has at least one.
func (w *workbook) close() error {
	if w.part == nil {
		if err := w.begin("Sheet1"); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	var types, book, links strings.Builder
	for i, name := range w.sheets {
		n := strconv.Itoa(i + 1)
		types.WriteString(`<Override PartName="/xl/worksheets/sheet` + n + `.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>`)
		book.WriteString(`<sheet name="` + string(appendXML(nil, []byte(name))) + `" sheetId="` + n + `" r:id="rId` + n + `"/>`)
		links.WriteString(`<Relationship Id="rId` + n + `" Type="` + officeSpace + `/worksheet" Target="worksheets/sheet` + n + `.xml"/>`)
	}
	for _, part := range [][2]string{
		{"xl/styles.xml", styles},
		{"xl/workbook.xml", xmlHead + `<workbook xmlns="` + mainSpace + `" xmlns:r="` + officeSpace + `"><sheets>` + book.String() + `</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", xmlHead + relationships + links.String() + `<Relationship Id="styles" Type="` + officeSpace + `/styles" Target="styles.xml"/></Relationships>`},
		{"_rels/.rels", xmlHead + relationships + `<Relationship Id="rId1" Type="` + officeSpace + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"[Content_Types].xml", xmlHead + contentTypes + types.String() + `</Types>`},
	} {
		to, err := w.zip.Create(part[0])
		if err == nil {
			_, err = io.WriteString(to, part[1])
		}
		if err != nil {
			return err
		}
	}
	return w.zip.Close()
}
