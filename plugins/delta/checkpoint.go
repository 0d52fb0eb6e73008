package delta

import (
	"context"
	"strconv"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// checkpoint makes the checkpoint of a version if one is due. The table is whole without it, so that what goes wrong is told
// and no more.
func checkpoint(h sdk.Host, version int64, now int64) {
	if err := writeCheckpoint(h, version, now); err != nil {
		h.Log(abi.LevelWarn, "no checkpoint was made of "+versionText(version)+", which the next writer will do: "+err.Error())
	}
}

func writeCheckpoint(h sdk.Host, version int64, now int64) error {
	ctx := context.Background()
	snapshot, err := deltalog.Open(ctx, storage{h}, deltalog.At{Version: &version})
	if err != nil || !snapshot.Metadata.CheckpointDue(version) {
		return err
	}
	duties, err := snapshot.CheckWrite()
	if err != nil {
		return err
	}
	if duties.NoCheckpoint != "" {
		h.Log(abi.LevelDebug, "no checkpoint is made: "+duties.NoCheckpoint)
		return nil
	}
	path := deltalog.CheckpointPath(version)
	var columns []abi.Column
	for _, c := range deltalog.CheckpointColumns() {
		columns = append(columns, abi.Column{Name: c.Name, Type: c.Type})
	}
	file, err := h.CreateRows(abi.RowsCreateRequest{Path: path, Format: "parquet", Columns: columns})
	if err != nil {
		return err
	}
	lines := &buffer{to: file}
	done, err := snapshot.WriteCheckpoint(ctx, now, lines.add)
	if err == nil {
		err = lines.flush()
	}
	if err != nil {
		return err
	}
	outcome, err := file.Close()
	if err != nil || outcome != abi.PutCreated {
		return err // another writer has made it, or it will be found, or not
	}
	size, err := sizeOf(h, version)
	if err != nil {
		return err
	}
	_, err = h.Put(deltalog.LastCheckpointPath, done.LastCheckpoint(size))
	return err
}

// sizeOf gives the bytes of a version's checkpoint.
func sizeOf(h sdk.Table, version int64) (int64, error) {
	digits := strconv.FormatInt(version, 10)
	name := deltalog.CheckpointPath(version)[len(deltalog.Folder)+1:]
	entries, err := h.List(deltalog.Folder, name[:len(name)-len(digits)-len(".checkpoint.parquet")]+digits)
	for _, e := range entries {
		if e.Name == name {
			return e.Size, nil
		}
	}
	return 0, err
}

// buffer gathers lines, so that few calls carry many.
type buffer struct {
	to    sdk.RowsFile
	lines []byte
}

// pieceSize is how many bytes are gathered.
const pieceSize = 256 << 10

func (b *buffer) add(line []byte) error {
	b.lines = append(b.lines, line...)
	if len(b.lines) < pieceSize {
		return nil
	}
	return b.flush()
}

func (b *buffer) flush() error {
	_, err := b.to.Write(b.lines)
	b.lines = b.lines[:0]
	return err
}
