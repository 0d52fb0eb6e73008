package config

// checkField declares one data check.
func checkField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "not_null", Kind: List, Elem: &Field{Kind: Text}, Example: "[id, dt]",
			Doc: "Columns that hold no NULL. The other checks take a NULL for a value that breaks nothing."},
		{Name: "unique", Kind: List, Elem: &Field{Kind: Text}, Example: "[id, dt]",
			Doc: "Columns that make a key: no two rows have the same. A row with a NULL in one of them is like no other."},
		{Name: "between", Kind: Map, Keys: Text, Elem: &Field{Kind: Object, Fields: []*Field{
			{Name: "min", Kind: Value, Example: "0.01", Doc: "The least value. Without it there is none."},
			{Name: "max", Kind: Value, Example: "2026-12-31", Doc: "The greatest value. Without it there is none."},
		}}, Example: "{amount: {min: 0, max: 9999.99}}",
			Doc: "Columns and their bounds, which belong to the range and are values of the column's type, without rounding. A NaN is in no range."},
		{Name: "one_of", Kind: Map, Keys: Text, Elem: &Field{Kind: List, Elem: &Field{Kind: Value}}, Example: "{country: [de, fr]}",
			Doc: "Columns and the values that they may have, of the column's type."},
		{Name: "matches", Kind: Map, Keys: Text, Elem: &Field{Kind: Text}, Example: `{email: "[^@]+@[^@]+"}`,
			Doc: "Columns of text and the regular expression (RE2) that the whole of each value matches; .*x.* finds an x anywhere."},
		{Name: "rows", Kind: Object, Example: "{min: 1}", Doc: "How many rows the relation has.", Fields: []*Field{
			{Name: "min", Kind: Int, Example: "1", Doc: "The least number of rows."},
			{Name: "max", Kind: Int, Example: "1000000", Doc: "The greatest number of rows."},
		}},
		{Name: "columns", Kind: Map, Keys: Text, Listed: AnyType, Elem: &Field{Kind: SQL}, Example: "{id: bigint, note: any}",
			Doc: "The columns that the relation has, and no others, in any order, with their SQL types; any stands for every type, and a bare list of names for columns of any type."},
		{Name: "severity", Kind: Choice, Values: []string{"fail", "warn", "quarantine"}, Default: "fail",
			Doc: "fail: the task ends and nothing lands. warn: it is said. quarantine: rows that break the check are taken out of the relation, before anything reads it, and written to another output; not for rows and columns."},
		{Name: "to", Kind: Text, Constant: true, Example: "bad_rows",
			Doc: "Of quarantine: the output that takes those rows. It has no from; its rows have the relation's columns and _check, the checks that the row breaks. All quarantines of a relation go to one output, and an output takes those of one relation."},
	}}
}

// reconcileField declares one comparison of input and output.
func reconcileField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "input", Kind: Text, Constant: true, Required: true, Example: "raw", Doc: "An input of the task: all that was read, also rows that went into quarantine."},
		{Name: "output", Kind: Text, Constant: true, Required: true, Example: "clean", Doc: "An output of the task: what was staged for it."},
		{Name: "plus", Kind: List, Constant: true, Elem: &Field{Kind: Text}, Example: "[bad_rows]", Doc: "Other outputs of the task whose rows count too, as those that take quarantined rows."},
		{Name: "rows", Kind: Choice, Values: []string{"equal"}, Example: "equal", Doc: "equal: as many rows land as were read."},
		{Name: "max_lost", Kind: Int, Example: "100", Doc: "Up to so many rows fewer land than were read, and never more."},
		{Name: "sum", Kind: Text, Example: "amount", Doc: "The numeric column, of the input and of each output, whose sums are equal. A NULL adds nothing."},
		{Name: "tolerance", Kind: Value, Example: "0.01", Doc: "By how much the sums may differ; 0 without it. Sums of floating-point columns depend on the order of the rows and need one."},
		{Name: "severity", Kind: Choice, Values: []string{"fail", "warn"}, Default: "fail", Doc: "fail: the task ends and nothing lands. warn: it is said."},
	}}
}
