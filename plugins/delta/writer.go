package delta

import (
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/files"
)

// Writer is the writer of Delta tables.
type Writer struct{}

var _ sdk.Committer = Writer{}

// Modes of outputs.
const (
	modeAppend     = "append"
	modeOverwrite  = "overwrite"
	modePartitions = "overwrite_partitions"
	modeMerge      = "merge"
	modeCreate     = "error_if_exists"
	modeIgnore     = "ignore"
)

// Options of outputs.
const (
	optTimestampNTZ = "timestamp_ntz"
	optAppID        = "txnAppId" // as other writers of Delta tables call it
	optAppVersion   = "txnVersion"
)

// Values of an output's `schema`.
const (
	schemaStrict = "strict"
	schemaAdd    = "add_columns"
)

// Describe upholds sdk.Writer.
func (Writer) Describe() abi.Description {
	own := abi.Exception{Options: map[string]string{optAppID: abi.AnyValue}, Class: abi.ClassNamed}
	slice := abi.Exception{Options: map[string]string{"replace_where": abi.AnyValue}, Class: abi.ClassReplaces}
	mode := func(name string, class abi.Class, exceptions ...abi.Exception) abi.Mode {
		return abi.Mode{Name: name, Class: class, Exceptions: append([]abi.Exception{own}, exceptions...)}
	}
	return abi.Description{
		Name: "delta", Version: "1", Doc: "A Delta table, flat or partitioned",
		Modes: []abi.Mode{
			mode(modeAppend, abi.ClassOnce, slice),
			mode(modeOverwrite, abi.ClassReplaces),
			mode(modePartitions, abi.ClassReplaces),
			mode(modeMerge, abi.ClassReplaces),
			mode(modeCreate, abi.ClassOnce),
			mode(modeIgnore, abi.ClassOnce),
		},
		Options:      options().Schema(),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapTable},
	}
}

func options() files.Options {
	return append(files.Options{
		{Name: optTimestampNTZ, Kind: files.Bool, Default: "false", What: "boolean",
			Doc: "What a column of type TIMESTAMP becomes when the table does not have it yet. false: a timestamp, its values taken as UTC, which every reader has. true: a timestamp_ntz, a wall clock of no zone, which raises the table's protocol."},
		{Name: optAppID, Kind: files.Text, Least: 1, Most: 200, What: "application id",
			Doc: "An application id of your own for the commit, in place of the batch's. Nothing then keeps a batch from landing twice."},
		{Name: optAppVersion, Kind: files.Int, Least: 0, Most: 1<<31 - 1, What: "version", Doc: "The version that the commit carries for txnAppId."},
	}, encoding()...)
}

// encoding are the options of the data files.
func encoding() files.Options {
	return files.Options{
		{Name: "compression", Kind: files.Choice, Default: "snappy", OneOf: []string{"zstd", "snappy", "gzip", "lz4", "brotli", "none"},
			Doc: "How column pages of the data files are compressed.", What: "compression of Parquet files"},
		{Name: "compression_level", Kind: files.Int, Least: 1, Most: 22,
			Doc: "1 (fastest) to 22 (smallest); with compression zstd only.", What: "level of zstd", Hint: "1 (fastest) to 22 (smallest)",
			Useless: func(all map[string]string) (why, hint string) {
				if c := all["compression"]; c != "zstd" {
					return "compression " + c + " has no levels", "remove it, or set compression: zstd"
				}
				return "", ""
			}},
		{Name: "row_group_size", Kind: files.Int, Least: 2048, Most: 100_000_000,
			Doc: "Rows of a row group, roughly.", What: "size of a row group", Hint: "2048 to 100000000 rows"},
	}
}

// encoded are the options that the engine's encoder is told.
func encoded(given map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range encoding().WithDefaults(given) {
		if name == "compression" || name == "compression_level" || name == "row_group_size" {
			all[name] = value
		}
	}
	return all
}

// codeRows is the code of a failure that the rows or the table are the cause of.
const codeRows = "rows"

// failure is an error that a person is told with a hint.
func failure(message, hint string) error {
	return &abi.Failure{Code: codeRows, Message: message, Hint: hint}
}

// replaces tells whether the output's mode makes rows of the table go.
func replaces(out abi.Output) bool {
	switch out.Mode {
	case modeOverwrite, modePartitions, modeMerge:
		return true
	}
	return out.ReplaceWhere != ""
}

func list(names []string) string { return strings.Join(names, ", ") }

func versionText(version int64) string { return "version " + strconv.FormatInt(version, 10) }

// plural gives "1 row" or "2 rows".
func plural(n int64, noun string) string {
	text := strconv.FormatInt(n, 10) + " " + noun
	if n != 1 {
		text += "s"
	}
	return text
}
