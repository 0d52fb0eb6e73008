package compute

// RuleKind tells what a Rule demands.
type RuleKind int

// The kinds of Rule. A NULL breaks NotNull and no other.
const (
	NotNull RuleKind = iota + 1
	Unique           // broken by every row of a key that several rows have; a key with a NULL in it is like no other
	Between          // broken by a value below Min or above Max; by a NaN in any case
	OneOf            // broken by a value that is none of Values
	Matches          // broken by a text that Pattern does not match as a whole
)

// Rule is what every row of a relation is to fulfil. Values are given as texts of the column's type; one that the type would
// have to round or cut is refused.
type Rule struct {
	Kind    RuleKind
	Columns []string // one; of Unique: those that make the key
	Min     *string  // of Between; nil: none
	Max     *string
	Values  []string // of OneOf
	Pattern string   // of Matches: a regular expression of the syntax RE2; a . stands for every character, also the end of a line
}

// Check asks how many rows of a relation break rules.
type Check struct {
	Relation Relation
	Rules    []Rule
	Examples int      // at most so many for each rule
	Show     []string // the columns that examples have; those of Unique have the key
}

// Checked is the answer to a Check.
type Checked struct {
	Rows   int64    // of the relation
	Broken []Broken // one for each rule
}

// Broken is how a relation breaks one rule.
type Broken struct {
	Rows     int64
	Columns  []string    // of Examples, as the relation spells them
	Examples [][]*string // values as text for people, a NULL as nil; of Unique: keys, else rows
}

// Divide makes a step of one part of a relation's rows: of those that break no rule, or of those that break one. Each row
// is in one of the two parts, and once.
type Divide struct {
	Of    Relation
	Rules []Rule

	// Broken, if not empty, is a column more of the rows that break a rule, which are the part then. It holds the
	// Names, one for each rule, of those that a row breaks, with "; " between them.
	Broken string
	Names  []string
}
