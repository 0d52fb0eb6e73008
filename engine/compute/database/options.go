package database

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Options are those of an input.
type Options struct {
	AsText          []string // columns that are read as texts; "*" are those that no type holds
	PartitionColumn string   // by whose ranges rows are read side by side; empty: they are not
	Partitions      int      // how many ranges
}

// mostPartitions is more than a server likes to have connections.
const mostPartitions = 64

// ReadOptions reads the options of an input. What is wrong is of the kind BadOption and names the option.
func ReadOptions(given map[string]string) (o Options, wrong []*compute.Error) {
	bad := func(key, message, hint string) {
		wrong = append(wrong, &compute.Error{Kind: compute.BadOption, Option: key, Message: message, Hint: hint})
	}
	known := []string{"as_text", "partition_column", "partitions"}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value := given[key]
		switch key {
		case "as_text":
			for name := range strings.SplitSeq(value, ",") {
				if name = strings.TrimSpace(name); name != "" {
					o.AsText = append(o.AsText, name)
				}
			}
		case "partition_column":
			o.PartitionColumn = value
		case "partitions":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > mostPartitions {
				bad(key, fmt.Sprintf("option partitions: %q is not a number from 1 to %d", value, mostPartitions), "")
			}
			o.Partitions = n
		default:
			bad(key, "jdbc has no option "+key, "known: "+strings.Join(known, ", "))
		}
	}
	if _, ok := given["partitions"]; ok && o.PartitionColumn == "" {
		bad("partitions", "option partitions: without partition_column there is nothing to divide by", "name a column of whole numbers as partition_column")
	}
	if o.PartitionColumn != "" && o.Partitions == 0 {
		o.Partitions = 4
	}
	return o, wrong
}
