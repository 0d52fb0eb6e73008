package delta

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/files"
)

// Plan upholds sdk.Writer.
func (w Writer) Plan(h sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	p := &planning{out: req.Output, answer: abi.PlanAnswer{Target: req.Output.Target}}
	p.answer.Class = w.class(req)
	p.output()
	t, err := open(h)
	if err != nil {
		hint, is := unfit(err)
		if !is {
			return p.answer, err
		}
		p.wrong("path", err.Error(), hint)
		return p.answer, nil
	}
	if t != nil {
		err = p.table(t, req.Batch)
	}
	if err == nil && len(p.answer.Problems) == 0 {
		p.answer.Will = p.will(t)
		p.answer.Reads = p.reads(t)
	}
	return p.answer, err
}

// reads is how often the rows are read: what is compared with the table, or must meet a demand of it, is looked at before it is written.
func (p *planning) reads(t *table) int {
	compared := p.out.Mode == modeMerge || p.out.ReplaceWhere != ""
	if t != nil {
		compared = compared || len(t.duties.Conditions) > 0
		for _, f := range t.duties.Schema.Fields {
			compared = compared || !f.Nullable
		}
	}
	if compared {
		return 2
	}
	return 1
}

// class is what the writer promises for an output: of an append, what the batch can have.
func (w Writer) class(req abi.PlanRequest) abi.Class {
	class, ok := w.Describe().Class(req.Output.Mode, req.Output.Options)
	switch {
	case ok && class != abi.ClassNamed && replaces(req.Output):
		return abi.ClassReplaces
	case ok && class == abi.ClassOnce && req.Batch != nil:
		return req.Batch.Class
	}
	return class
}

// planning gathers what is wrong with one output.
type planning struct {
	out    abi.Output
	where  *predicate.Condition
	answer abi.PlanAnswer
}

func (p *planning) wrong(field, message, hint string) {
	p.answer.Problems = append(p.answer.Problems, abi.Problem{Field: field, Message: message, Hint: hint})
}

// output looks at the output alone.
func (p *planning) output() {
	var modes []string
	for _, m := range (Writer{}).Describe().Modes {
		modes = append(modes, m.Name)
	}
	if !slices.Contains(modes, p.out.Mode) {
		p.wrong("mode", strconv.Quote(p.out.Mode)+" is no mode of delta outputs", "the modes are "+list(modes))
	}
	for _, problem := range files.CheckLayout(p.out) {
		if p.out.Mode != modePartitions || len(p.out.PartitionBy) > 0 { // the table may have partitions
			p.answer.Problems = append(p.answer.Problems, problem)
		}
	}
	p.answer.Problems = append(p.answer.Problems, options().Check("delta", p.out.Options)...)
	_, id := p.out.Options[optAppID]
	if _, version := p.out.Options[optAppVersion]; id != version {
		p.wrong("options."+optAppID, optAppID+" and "+optAppVersion+" go together", "give both, or leave both out: the batch's own are used then")
	}
	if s := p.out.Schema; s != "" && s != schemaStrict && s != schemaAdd {
		p.wrong("schema", strconv.Quote(s)+" is no policy for columns", "strict, or add_columns")
	}
	p.keys()
	if p.out.ReplaceWhere != "" {
		p.slice()
	}
}

func (p *planning) keys() {
	seen := map[string]bool{}
	for _, key := range p.out.Keys {
		if lower := strings.ToLower(key); key == "" || seen[lower] {
			p.wrong("keys", "column "+strconv.Quote(key)+" is no key, or is named twice", "")
		} else {
			seen[lower] = true
		}
	}
	switch {
	case p.out.Mode == modeMerge && len(p.out.Keys) == 0:
		p.wrong("keys", "mode merge finds rows by their keys, and none are named", "name the columns that identify a row")
	case p.out.Mode != modeMerge && len(p.out.Keys) > 0:
		p.wrong("keys", "mode "+p.out.Mode+" has no keys", "remove them, or use mode: merge")
	}
}

func (p *planning) slice() {
	if p.out.Mode != modeAppend {
		p.wrong("replace_where", "replace_where goes with mode append, and not with "+p.out.Mode, "remove one of the two")
	}
	var err error
	if p.where, err = predicate.Parse(p.out.ReplaceWhere, predicate.Standard); err != nil {
		p.condition(err)
	}
}

func (p *planning) condition(err error) {
	message, hint := "the condition cannot be used: "+err.Error(), ""
	if e, ok := err.(*predicate.Error); ok {
		if hint = e.Hint; e.At > 0 {
			message += " (after " + strconv.Quote(shorten(p.out.ReplaceWhere[:min(e.At, len(p.out.ReplaceWhere))])) + ")"
		}
	}
	p.wrong("replace_where", message, hint)
}

// shorten gives the end of a text.
func shorten(text string) string {
	runes := []rune(text)
	return string(runes[max(len(runes)-40, 0):])
}

// table looks at the output and the table together.
func (p *planning) table(t *table, batch *abi.Batch) error {
	duties := t.duties
	if duties.AppendOnly && replaces(p.out) {
		p.wrong("mode", "the table is append-only (delta.appendOnly), and the output would replace rows", "append, or have the table's owner change the property")
	}
	if duties.ChangeFeed && (p.out.Mode == modeMerge || p.out.ReplaceWhere != "") {
		p.wrong("mode", "the table records changed rows (delta.enableChangeDataFeed), which is done here only for whole files", "use overwrite or overwrite_partitions, or have the table's owner change the property")
	}
	if _, err := conditions(t); err != nil {
		p.wrong("path", err.Error(), "have the table's owner drop it, or write by a program that has all of SQL")
	}
	if at := t.Metadata.PartitionColumns; len(p.out.PartitionBy) > 0 && !sameNames(at, p.out.PartitionBy) {
		hint := "leave partition_by out: the table's own columns are used"
		if p.out.Mode == modePartitions { // which has to name them
			hint = "partition_by: [" + list(at) + "]"
		}
		p.wrong("partition_by", "the table is partitioned by "+orNothing(at)+", not by "+list(p.out.PartitionBy), hint)
	} else if p.out.Mode == modePartitions && len(at) == 0 {
		p.wrong("mode", "mode overwrite_partitions replaces partitions, and the table has none", "use mode overwrite, or replace_where with mode append")
	}
	p.folders(t)
	for _, key := range p.out.Keys {
		if _, ok := duties.Schema.Field(key); !ok && p.out.Schema != schemaAdd {
			p.wrong("keys", "the table has no column "+strconv.Quote(key), "")
		}
	}
	if p.where != nil && p.out.Schema != schemaAdd {
		if _, err := p.where.Bind(duties.Schema); err != nil {
			p.condition(err)
		}
	}
	if kept := t.Metadata.TxnRetention(); kept != "" {
		warning := "the table forgets which batches it has after " + kept + " (delta.setTransactionRetentionDuration): a batch that is run again later than that may land twice"
		p.answer.Warnings = append(p.answer.Warnings, warning)
		if p.answer.Class == abi.ClassOnce {
			p.answer.Class = abi.ClassNamed
		}
	}
	return p.exists(t, batch)
}

// folders refuses a table of another writer that has partition columns by which the engine makes no folders: it would say so
// only when the rows are there, and of a column that no step can name otherwise.
func (p *planning) folders(t *table) {
	for _, name := range t.Metadata.PartitionColumns {
		why := ""
		if f, ok := t.duties.Schema.Field(name); ok && (f.Type.Kind == schema.Float || f.Type.Kind == schema.Double || f.Type.Kind == schema.Binary) {
			why = "which is a " + f.Type.String()
		} else if !namesFolders(name) {
			why = "whose name is not of ASCII letters, digits and _.-~, or begins with _ or ."
		}
		if why != "" {
			p.wrong("path", "the table is partitioned by the column "+strconv.Quote(name)+", "+why+": no folders are made by it here",
				"write by another program, or to a table that is partitioned by another column")
		}
	}
}

// namesFolders tells whether a column can name folders, by the engine's rule.
func namesFolders(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_.-~", c) >= 0:
		default:
			return false
		}
	}
	return name != "" && name[0] != '_' && name[0] != '.'
}

func (p *planning) exists(t *table, batch *abi.Batch) error {
	if p.out.Mode != modeCreate && p.out.Mode != modeIgnore {
		return nil
	}
	if batch != nil {
		if mine, err := t.newest(*batch); err != nil || mine != nil {
			return err
		}
	}
	p.answer.Exists = versionText(t.Version)
	return nil
}

func sameNames(a, b []string) bool { return slices.EqualFunc(a, b, strings.EqualFold) }

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return list(names)
}

func (p *planning) will(t *table) string {
	what, to := "append to ", "the Delta table "+p.out.Target
	if t == nil {
		what, to = "make ", to+" (protocol "+needed(schema.Type{}, p.out)+")"
	}
	switch {
	case p.out.ReplaceWhere != "":
		what = "replace the rows with " + p.out.ReplaceWhere + " in "
	case p.out.Mode == modeOverwrite:
		what = "replace the rows of "
	case p.out.Mode == modePartitions:
		what = "replace the partitions that the rows have in "
	case p.out.Mode == modeMerge:
		what = "replace rows by " + list(p.out.Keys) + ", and add the others, in "
	}
	return what + to
}

// needed says what a new table asks of its readers and writers, before its columns are known.
func needed(t schema.Type, out abi.Output) string {
	if t.Has(schema.TimestampNTZ) || out.Options[optTimestampNTZ] == "true" {
		return "1,2; with timestamp_ntz 3,7"
	}
	return "1,2"
}
