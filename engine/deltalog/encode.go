package deltalog

import "github.com/ubunye-io/ubunye/internal/exactjson"

// encoder writes actions as lines. A checkpoint's rows have a fixed shape: what is not in it is left out, and no action of
// them changes data.
type encoder struct {
	exactjson.Writer
	checkpoint bool
}

func (e *encoder) action(a Action) {
	e.Object(func() {
		switch {
		case a.CommitInfo != nil:
			e.Name("commitInfo").Raw(a.CommitInfo.Members)
		case a.Protocol != nil:
			e.protocol(a.Protocol)
		case a.Metadata != nil:
			e.metadata(a.Metadata)
		case a.Txn != nil:
			e.txn(a.Txn)
		case a.Domain != nil:
			e.domain(a.Domain)
		case a.Add != nil:
			e.add(a.Add)
		case a.Remove != nil:
			e.remove(a.Remove)
		}
	})
	e.Line()
}

func (e *encoder) protocol(p *Protocol) {
	e.Name("protocol").Object(func() {
		e.Name("minReaderVersion").Long(int64(p.MinReader))
		e.Name("minWriterVersion").Long(int64(p.MinWriter))
		if p.MinReader >= firstListingReader {
			e.texts("readerFeatures", p.ReaderFeatures)
		}
		if p.MinWriter >= firstListingWriter {
			e.texts("writerFeatures", p.WriterFeatures)
		}
		e.others(p.other)
	})
}

func (e *encoder) metadata(m *Metadata) {
	e.Name("metaData").Object(func() {
		e.Name("id").Text(m.ID)
		e.text("name", m.Name)
		e.text("description", m.Description)
		e.Name("format").Object(func() {
			e.Name("provider").Text(m.Provider)
			e.pairs("options", m.FormatOptions)
		})
		e.Name("schemaString").Text(m.SchemaString)
		e.texts("partitionColumns", m.PartitionColumns)
		e.long("createdTime", m.CreatedTime)
		e.pairs("configuration", m.Configuration)
		e.others(m.other)
	})
}

func (e *encoder) txn(t *Txn) {
	e.Name("txn").Object(func() {
		e.Name("appId").Text(t.AppID)
		e.Name("version").Long(t.Version)
		e.long("lastUpdated", t.LastUpdated)
	})
}

func (e *encoder) domain(d *Domain) {
	e.Name("domainMetadata").Object(func() {
		e.Name("domain").Text(d.Name)
		e.Name("configuration").Text(d.Configuration)
		e.Name("removed").Bool(d.Removed)
	})
}

func (e *encoder) add(a *Add) {
	e.Name("add").Object(func() {
		e.Name("path").Text(a.Path)
		e.pairs("partitionValues", a.Partition)
		e.Name("size").Long(a.Size)
		e.Name("modificationTime").Long(a.ModificationTime)
		e.Name("dataChange").Bool(a.DataChange && !e.checkpoint)
		if a.Stats != "" {
			e.Name("stats").Text(a.Stats)
		}
		e.raw("tags", a.tags)
		e.vector(a.DeletionVector)
		e.long("baseRowId", a.BaseRowID)
		e.long("defaultRowCommitVersion", a.RowCommitVersion)
		if a.Clustering != "" {
			e.Name("clusteringProvider").Text(a.Clustering)
		}
		e.others(a.other)
	})
}

func (e *encoder) remove(m *Remove) {
	e.Name("remove").Object(func() {
		e.Name("path").Text(m.Path)
		if m.DeletionTimestamp != 0 {
			e.Name("deletionTimestamp").Long(m.DeletionTimestamp)
		}
		e.Name("dataChange").Bool(m.DataChange && !e.checkpoint)
		e.Name("extendedFileMetadata").Bool(m.Extended)
		if m.Extended {
			e.pairs("partitionValues", m.Partition)
			e.Name("size").Long(m.Size)
		}
		if !e.checkpoint {
			e.raw("tags", m.tags)
		}
		e.vector(m.DeletionVector)
		e.long("baseRowId", m.BaseRowID)
		e.long("defaultRowCommitVersion", m.RowCommitVersion)
		e.others(m.other)
	})
}

func (e *encoder) vector(v *DeletionVector) {
	if v == nil {
		return
	}
	e.Name("deletionVector").Object(func() {
		e.Name("storageType").Text(v.Storage)
		e.Name("pathOrInlineDv").Text(v.Path)
		if v.Offset != nil {
			e.Name("offset").Long(int64(*v.Offset))
		}
		e.Name("sizeInBytes").Long(int64(v.Size))
		e.Name("cardinality").Long(v.Cardinality)
		e.others(v.other)
	})
}

func (e *encoder) others(m members) {
	for _, member := range m {
		if !e.checkpoint {
			e.raw(member.name, member.value)
		}
	}
}

func (e *encoder) raw(name string, value []byte) {
	if value != nil {
		e.Name(name).Raw(value)
	}
}

func (e *encoder) long(name string, n *int64) {
	if n != nil {
		e.Name(name).Long(*n)
	}
}

func (e *encoder) text(name string, text *string) {
	if text != nil {
		e.Name(name).Text(*text)
	}
}

func (e *encoder) texts(name string, texts []string) {
	e.Name(name).Array(func() {
		for _, text := range texts {
			e.Text(text)
		}
	})
}

func (e *encoder) pairs(name string, pairs []Pair) {
	e.Name(name).Object(func() {
		for _, p := range pairs {
			if e.Name(p.Name); p.Value == nil {
				e.Null()
			} else {
				e.Text(*p.Value)
			}
		}
	})
}
