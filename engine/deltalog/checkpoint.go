package deltalog

import (
	"context"
	"strconv"
	"strings"
)

// Properties that bear on checkpoints.
const (
	propInterval    = "delta.checkpointInterval"
	propRetention   = "delta.deletedFileRetentionDuration"
	propTxnRetained = "delta.setTransactionRetentionDuration"
	propStatsStruct = "delta.checkpoint.writeStatsAsStruct"
	propStatsText   = "delta.checkpoint.writeStatsAsJson"
)

// defaultInterval is how many commits lie between checkpoints of a table that does not say.
const defaultInterval = 10

// weekMillis is how long a removed file's tombstone stays in a table that does not say.
const weekMillis = 7 * 24 * 3600 * 1000

// CheckpointDue tells whether a commit of that version is to be followed by a checkpoint.
func (m *Metadata) CheckpointDue(version int64) bool {
	every := int64(defaultInterval)
	if n, err := strconv.ParseInt(m.Property(propInterval), 10, 64); err == nil && n > 0 {
		every = n
	}
	return version > 0 && version%every == 0
}

// TxnRetention is the time after which the table may forget how far an application had come, as its property says it; empty
// if it never does.
func (m *Metadata) TxnRetention() string { return m.Property(propTxnRetained) }

// CheckpointColumn is a column of a checkpoint's Parquet file, with its SQL type.
type CheckpointColumn struct{ Name, Type string }

// CheckpointColumns are all that WriteCheckpoint's rows have.
func CheckpointColumns() []CheckpointColumn {
	const texts = "MAP(VARCHAR, VARCHAR)"
	const vector = "STRUCT(storageType VARCHAR, pathOrInlineDv VARCHAR, \"offset\" INTEGER, sizeInBytes INTEGER, cardinality BIGINT)"
	const file = ", partitionValues " + texts + ", size BIGINT, deletionVector " + vector + ", baseRowId BIGINT, defaultRowCommitVersion BIGINT"
	return []CheckpointColumn{
		{"txn", "STRUCT(appId VARCHAR, version BIGINT, lastUpdated BIGINT)"},
		{"add", "STRUCT(path VARCHAR, modificationTime BIGINT, dataChange BOOLEAN, stats VARCHAR, tags " + texts + ", clusteringProvider VARCHAR" + file + ")"},
		{"remove", "STRUCT(path VARCHAR, deletionTimestamp BIGINT, dataChange BOOLEAN, extendedFileMetadata BOOLEAN" + file + ")"},
		{"metaData", "STRUCT(id VARCHAR, name VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options " + texts + "), schemaString VARCHAR, partitionColumns VARCHAR[], configuration " + texts + ", createdTime BIGINT)"},
		{"protocol", "STRUCT(minReaderVersion INTEGER, minWriterVersion INTEGER, readerFeatures VARCHAR[], writerFeatures VARCHAR[])"},
		{"domainMetadata", "STRUCT(\"domain\" VARCHAR, configuration VARCHAR, removed BOOLEAN)"},
	}
}

// Checkpoint is what was written.
type Checkpoint struct {
	Version int64
	Actions int64 // rows
	Adds    int64 // rows that are live files
}

// WriteCheckpoint gives the rows of a checkpoint of the snapshot, each a line of JSON: the classic kind, which every table
// may have. Tombstones stay as long as the table's properties say, counted from now, in milliseconds since 1970. A txn or a
// domain of the table is never left out.
func (s *Snapshot) WriteCheckpoint(ctx context.Context, now int64, row func(line []byte) error) (Checkpoint, error) {
	done := Checkpoint{Version: s.Version}
	withStats := s.Protocol.MinWriter < 3 || !strings.EqualFold(s.Metadata.Property(propStatsText), "false")
	put := func(a Action) error {
		done.Actions++
		if a.Add != nil {
			done.Adds++
			if !withStats {
				a.Add.Stats = ""
			}
		}
		e := &encoder{checkpoint: true}
		e.action(a)
		return row(e.Bytes())
	}
	if err := put(Action{Protocol: s.Protocol}); err != nil {
		return done, err
	}
	if err := put(Action{Metadata: s.Metadata}); err != nil {
		return done, err
	}
	if err := s.words(ctx, put); err != nil {
		return done, err
	}
	oldest := now - retention(s.Metadata.Property(propRetention))
	return done, s.replay(ctx, true, func(a Action) error {
		if a.Remove != nil && a.Remove.DeletionTimestamp < oldest {
			return nil
		}
		return put(a)
	})
}

// words gives the newest txn of each application and the newest text of each domain that has one.
func (s *Snapshot) words(ctx context.Context, visit func(Action) error) error {
	txns, domains := map[string]bool{}, map[string]bool{}
	one := func(a Action) error {
		switch {
		case a.Txn != nil && !txns[a.Txn.AppID]:
			txns[a.Txn.AppID] = true
			return visit(a)
		case a.Domain != nil && !domains[a.Domain.Name]:
			domains[a.Domain.Name] = true
			if !a.Domain.Removed {
				return visit(a)
			}
		}
		return nil
	}
	for _, c := range s.commits {
		for _, t := range c.txns {
			if err := one(Action{Txn: t}); err != nil {
				return err
			}
		}
		for _, d := range c.domains {
			if err := one(Action{Domain: d}); err != nil {
				return err
			}
		}
	}
	return s.rows(ctx, []string{"txn", "domainMetadata"}, nil, func(a Action, _ string) error { return one(a) })
}

// retention reads "interval 1 week" as milliseconds. What cannot be read keeps tombstones for ever: that costs space and
// breaks nothing.
func retention(text string) int64 {
	const forever = 1 << 62
	if text == "" {
		return weekMillis
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	if len(words) == 0 || len(words)%2 != 0 {
		return forever
	}
	units := map[string]int64{"week": weekMillis, "day": weekMillis / 7, "hour": 3_600_000, "minute": 60_000, "second": 1000, "millisecond": 1}
	var sum int64
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseInt(words[i], 10, 32)
		unit, ok := units[strings.TrimSuffix(words[i+1], "s")]
		if err != nil || !ok || n < 0 {
			return forever
		}
		sum += n * unit
	}
	return sum
}

// LastCheckpoint gives the content of the file at LastCheckpointPath that points at a checkpoint of so many bytes.
func (c Checkpoint) LastCheckpoint(bytes int64) []byte {
	e := &encoder{}
	e.Object(func() {
		e.Name("version").Long(c.Version)
		e.Name("size").Long(c.Actions)
		e.Name("sizeInBytes").Long(bytes)
		e.Name("numOfAddFiles").Long(c.Adds)
	})
	return e.Bytes()
}
