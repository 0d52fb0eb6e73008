package main

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// parts writes rows and gives the parts of the workbook.
func parts(t *testing.T, by int, fields []sdk.Field, rows [][]any) (map[string]string, error) {
	t.Helper()
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"r": sdktest.Table(fields, rows)}}
	r, err := h.Rows(abi.RowsRequest{Relation: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Fields(); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := newWorkbook(&file, fields, by).writeAll(r); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range z.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		found[f.Name] = string(data)
	}
	return found, nil
}

func TestCells(t *testing.T) {
	fields := []sdk.Field{{Name: "t", Kind: sdk.Text}, {Name: "i", Kind: sdk.Int, Bits: 64}, {Name: "d", Kind: sdk.Date}, {Name: "b", Kind: sdk.Bool}}
	got, err := parts(t, -1, fields, [][]any{{"a<b&\x01_x0041_", 7, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), true}, {"=1+1", 1234567890123456, time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC), nil}})
	if err != nil {
		t.Fatal(err)
	}
	sheet := got["xl/worksheets/sheet1.xml"]
	for _, cell := range []string{
		`<t xml:space="preserve">a&lt;b&amp;_x0001__x005F_x0041_</t>`, `<c><v>7</v></c>`, `<c s="2"><v>46053</v></c>`, `<c t="b"><v>1</v></c>`,
		`<c t="inlineStr"><is><t xml:space="preserve">=1+1</t>`, `<t xml:space="preserve">1234567890123456</t>`, `<t xml:space="preserve">1899-12-31</t>`, `<c/></row>`,
	} {
		if !strings.Contains(sheet, cell) {
			t.Errorf("no %s in %s", cell, sheet)
		}
	}
}

func TestSheets(t *testing.T) {
	fields := []sdk.Field{{Name: "region", Kind: sdk.Text}, {Name: "v", Kind: sdk.Int, Bits: 32}}
	got, err := parts(t, 0, fields, [][]any{{"a & b", 1}, {"a & b", 2}, {nil, 3}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got["xl/workbook.xml"], `<sheet name="a &amp; b" sheetId="1" r:id="rId1"/><sheet name="(none)" sheetId="2" r:id="rId2"/>`) {
		t.Error(got["xl/workbook.xml"])
	}
	if s := got["xl/worksheets/sheet2.xml"]; strings.Contains(s, "region") || strings.Count(s, "<row>") != 2 {
		t.Error(s)
	}
	for _, name := range []string{"a/b", "", "'x", "History", strings.Repeat("x", 32)} {
		if _, err := parts(t, 0, fields, [][]any{{name, 1}}); err == nil || !strings.Contains(err.Error(), "cannot name a sheet") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := parts(t, 0, fields, [][]any{{"EU", 1}, {"eu", 1}}); err == nil {
		t.Error("Excel cannot open two sheets of one name")
	}
}

func TestAWorkbookWithoutRows(t *testing.T) {
	got, err := parts(t, 0, []sdk.Field{{Name: "region", Kind: sdk.Text}, {Name: "v", Kind: sdk.Int, Bits: 32}}, nil)
	if err != nil || strings.Count(got["xl/worksheets/sheet1.xml"], "<row>") != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
