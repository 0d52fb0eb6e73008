package expect

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Balance compares what was read with what is staged.
type Balance struct {
	Input     compute.Relation
	Outputs   []Staged // taken together
	MaxLost   int64    // how many rows fewer may land than were read
	Sum       string   // the column whose sums are compared; empty: rows are
	Tolerance string   // by how much sums may differ, a decimal number; empty: not at all
}

// Staged is what an output is to land.
type Staged struct {
	Relation compute.Relation // what was written
	Rows     int64            // that were staged
}

// Reconcile makes comparisons, in their order. Inputs are read again where they are not kept: their files are pinned.
func Reconcile(ctx context.Context, ses compute.Session, balances []Balance) ([]Result, error) {
	results := make([]Result, len(balances))
	counted := map[compute.Relation]int64{}
	for i, b := range balances {
		read, known := counted[b.Input]
		if !known {
			var err error
			if read, err = ses.Count(ctx, b.Input); err != nil {
				return nil, err
			}
			counted[b.Input] = read
		}
		var err error
		detail := ""
		if b.Sum == "" {
			detail = b.rows(read)
		} else if detail, err = b.sums(ctx, ses); err != nil {
			var wrong *compute.Error
			if errors.As(err, &wrong) && wrong.Kind == compute.BadOption {
				return nil, &Error{Check: i, Err: err}
			}
			return nil, err
		}
		results[i] = Result{Check: i, Passed: detail == "", Rows: read, Detail: detail}
	}
	return results, nil
}

// rows compares numbers of rows.
func (b Balance) rows(read int64) string {
	var staged int64
	for _, o := range b.Outputs {
		staged += o.Rows
	}
	lost := read - staged
	text := fmt.Sprintf("%s read, %d to land", count(read), staged)
	switch {
	case lost < 0:
		return fmt.Sprintf("%s: %d more", text, -lost)
	case lost > b.MaxLost:
		return fmt.Sprintf("%s: %d lost", text, lost)
	}
	return ""
}

// sums compares the sums of a column.
func (b Balance) sums(ctx context.Context, ses compute.Session) (string, error) {
	readText, err := ses.Sum(ctx, b.Input, b.Sum)
	if err != nil {
		return "", err
	}
	read, finite := new(big.Rat).SetString(readText)
	staged, stagedText := new(big.Rat), ""
	for _, o := range b.Outputs {
		text, err := ses.Sum(ctx, o.Relation, b.Sum)
		if err != nil {
			return "", err
		}
		if stagedText != "" {
			stagedText += " + "
		}
		stagedText += text
		sum, ok := new(big.Rat).SetString(text)
		if finite = finite && ok; finite {
			staged.Add(staged, sum)
		}
	}
	text := fmt.Sprintf("the sum of %s is %s in what was read, %s in what is to land", b.Sum, readText, stagedText)
	if !finite {
		return text + ": sums that are no finite numbers cannot be compared", nil
	}
	tolerance := new(big.Rat)
	if b.Tolerance != "" {
		if _, ok := tolerance.SetString(b.Tolerance); !ok {
			return "", fmt.Errorf("the tolerance %q is no number", b.Tolerance)
		}
	}
	off := new(big.Rat).Sub(staged, read)
	if off.Abs(off).Cmp(tolerance) > 0 {
		return text, nil
	}
	return "", nil
}
