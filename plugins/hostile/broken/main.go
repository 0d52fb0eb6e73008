// Command broken is a module of writers that are nearly right: each has one of the mistakes that people make, and is named by
// it. The kit that tests writers must find each of them, by the one check that is about it. The writer sound has none.
package main

import (
	"strconv"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// The mistakes.
const (
	sound         = "sound"
	wordless      = "wordless"       // does not say what it is
	fickle        = "fickle"         // describes itself in another way each time
	wavering      = "wavering"       // plans something else each time
	deaf          = "deaf"           // takes options that it does not have
	dropsLast     = "drops-last"     // loses the last row
	miscounts     = "miscounts"      // counts one row too many
	nullAsText    = "null-as-text"   // writes NULL as an empty text
	failsEmpty    = "fails-empty"    // looks at the first row, also if there is none
	trims         = "trims"          // loses the blanks around a text
	datesAsNumber = "date-as-number" // writes a date as the days since 1970
	narrow        = "narrow"         // keeps 32 bits of a number
	firstBatch    = "first-batch"    // takes the first batch of rows for all of them
	fileSeam      = "file-seam"      // loses a row where a new file begins
	onePartition  = "one-partition"  // puts all rows of a batch where the first one belongs
	hoards        = "hoards"         // keeps all rows in memory
	talks         = "talks"          // says a line for everything that it sees
	swallows      = "swallows"       // does not look whether a write has failed
	greedy        = "greedy"         // asks for files that it never makes
	repeats       = "repeats"        // writes everything twice when the batch was written before
	forgets       = "forgets"        // writes nothing when it is to replace what it wrote before
	resumes       = "resumes"        // believes that the first file of a run that died is still there
)

func init() {
	var all []sdk.Writer
	for _, name := range []string{sound, wordless, fickle, wavering, deaf, dropsLast, miscounts, nullAsText, failsEmpty, trims, datesAsNumber, narrow, firstBatch,
		fileSeam, onePartition, hoards, talks, swallows, greedy, repeats, forgets, resumes} {
		all = append(all, broken(name))
	}
	sdk.Serve(all...)
}

func main() {}

// broken writes JSON lines in which every value is a text. Its name is its mistake.
type broken string

func (w broken) Describe() abi.Description {
	d := abi.Description{
		Name: string(w), Version: "1", Doc: "JSON lines",
		Modes:        []abi.Mode{{Name: "append", Class: abi.ClassClaims}, {Name: "overwrite", Class: abi.ClassReplaces}},
		Options:      abi.JSON(`{"type": "object", "additionalProperties": false}`),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapFiles},
	}
	switch w {
	case wordless:
		d.Doc = ""
	case fickle:
		d.Doc += " " + chance()
	case deaf:
		d.Options = abi.JSON(`{}`)
	}
	return d
}

func (w broken) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	a := abi.PlanAnswer{Target: req.Output.Target, Will: "write JSON lines to " + req.Output.Target}
	a.Class, _ = w.Describe().Class(req.Output.Mode, req.Output.Options)
	if w == wavering {
		a.Will += " " + chance()
	}
	return a, nil
}

func (w broken) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	if w == greedy {
		files, err := h.Encode(abi.EncodeRequest{Relation: req.Relation, Format: "json", PartitionBy: req.Output.PartitionBy, TargetFileSize: req.Output.TargetFileSize})
		a := abi.StageAnswer{Files: files}
		for _, f := range files {
			a.Rows += f.Rows
		}
		return a, err
	}
	again := req.Epoch > 1
	out := &output{writer: w, host: h, most: req.Output.TargetFileSize, by: req.Output.PartitionBy, open: map[string]*part{}}
	out.skip = w == resumes && again
	times := 1
	switch {
	case w == repeats && again && req.Output.Mode == "append":
		times = 2
	case w == forgets && again && req.Output.Mode == "overwrite":
		times = 0
	}
	for range times {
		rows, err := h.Rows(abi.RowsRequest{Relation: req.Relation})
		if err != nil {
			return abi.StageAnswer{}, err
		}
		if err := out.write(rows); err != nil {
			return abi.StageAnswer{}, err
		}
	}
	err := out.close()
	if w == miscounts && len(out.answer.Files) > 0 {
		out.answer.Files[0].Rows++
		out.answer.Rows++
	}
	return out.answer, err
}

// chance is a number that nobody knows before.
func chance() string { return strconv.FormatUint(random(), 36) }
