// Package predicate reads the conditions that a Delta writer must understand, and not only hand on: the slice that an
// output replaces, and the constraints of a table. A condition can be asked of one row, as SQL, and of a file, by what
// its statistics and partition values say.
//
//	condition  = condition OR condition | condition AND condition | NOT condition | ( condition ) | test
//	test       = operand (= | == | <> | != | < | <= | > | >=) operand
//	           | column IS [NOT] NULL | column [NOT] IN ( literal, … ) | column [NOT] BETWEEN literal AND literal
//	           | column                                    of booleans
//	operand    = column | literal
//	literal    = 'text' | 12 | -1.5 | 1e6 | TRUE | FALSE | DATE 'text' | TIMESTAMP 'text'
//
// A literal is a value of the column's type, or the condition is refused: nothing is rounded, and no text becomes a number that
// the column cannot have. Conditions of more kinds are refused, not guessed: the writer would have to decide by them which
// files go.
package predicate

// Error says what is wrong with a condition.
type Error struct {
	At     int // byte of the text where it is; -1: nowhere in particular
	Reason string
	Hint   string
}

func (e *Error) Error() string { return e.Reason }
