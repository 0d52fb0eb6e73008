package deltalog

import (
	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// Protocol says what a reader and a writer of the table must be able to do. Features are listed from reader version 3 and
// writer version 7 on.
type Protocol struct {
	MinReader, MinWriter           int
	ReaderFeatures, WriterFeatures []string
	other                          members
}

// Metadata is what the table is.
type Metadata struct {
	ID               string
	Name             *string
	Description      *string
	Provider         string // of the data files: parquet
	FormatOptions    []Pair
	SchemaString     string // schema.Parse reads it
	PartitionColumns []string
	CreatedTime      *int64 // milliseconds since 1970
	Configuration    []Pair
	other            members
}

// Property gives a value of the configuration; empty if there is none.
func (m *Metadata) Property(name string) string {
	for _, p := range m.Configuration {
		if p.Name == name && p.Value != nil {
			return *p.Value
		}
	}
	return ""
}

// Pair is a name and a text; nil is NULL.
type Pair struct {
	Name  string
	Value *string
}

// Add is a file that belongs to the table from this commit on.
type Add struct {
	Path             string // as the log has it: relative to the table or absolute, and encoded; DecodePath decodes it
	Partition        []Pair // by the columns' physical names, as schema.ParsePartition reads them
	Size             int64  // bytes
	ModificationTime int64  // milliseconds since 1970
	DataChange       bool   // false: the rows were in the table before
	Stats            string // JSON; empty: none
	DeletionVector   *DeletionVector
	BaseRowID        *int64
	RowCommitVersion *int64
	Clustering       string
	tags             []byte // JSON
	other            members
}

// PartitionText gives the value of a partition column as the log has it, by its physical name; false for NULL. The protocol
// reads an empty text as NULL.
func (a *Add) PartitionText(physical string) (string, bool) {
	for _, p := range a.Partition {
		if p.Name == physical && p.Value != nil && *p.Value != "" {
			return *p.Value, true
		}
	}
	return "", false
}

// Remove is a file that belonged to the table until this commit.
type Remove struct {
	Path              string
	DeletionTimestamp int64 // milliseconds since 1970; 0: not said
	DataChange        bool
	Extended          bool // Partition and Size are said
	Partition         []Pair
	Size              int64
	DeletionVector    *DeletionVector
	BaseRowID         *int64
	RowCommitVersion  *int64
	tags              []byte
	other             members
}

// Txn is how far an application had come with this commit.
type Txn struct {
	AppID       string
	Version     int64
	LastUpdated *int64 // milliseconds since 1970
}

// Domain is a named text that belongs to the table.
type Domain struct {
	Name          string
	Configuration string
	Removed       bool
}

// CommitInfo is what a commit says of itself.
type CommitInfo struct {
	InCommitTimestamp *int64 // milliseconds since 1970
	BlindAppend       bool   // it read nothing of the table
	Members           []byte // all of it, as JSON
}

// Sidecar is a file of a checkpoint that holds its adds and removes.
type Sidecar struct{ Path string }

// Action is one line of a commit, or one row of a checkpoint: at most one of its members is set, none for what this package
// does not know.
type Action struct {
	Protocol   *Protocol
	Metadata   *Metadata
	Add        *Add
	Remove     *Remove
	Txn        *Txn
	Domain     *Domain
	CommitInfo *CommitInfo
	Sidecar    *Sidecar
	CDC        bool // a file of changed rows, which no snapshot holds
}

// members are those of an object that are not known, each as it was written: they are written back.
type members []member

type member struct {
	name  string
	value []byte
}

// ParseAction reads one line. What is not known is left out, as the protocol demands; what is known must be right.
func ParseAction(line []byte) (Action, error) {
	var a Action
	err := parseLine(line, func(kind string, r *exactjson.Reader) {
		switch kind {
		case "protocol":
			a.Protocol = readProtocol(r)
		case "metaData":
			a.Metadata = readMetadata(r)
		case "add":
			a.Add = readAdd(r)
		case "remove":
			a.Remove = readRemove(r)
		case "txn":
			a.Txn = readTxn(r)
		case "domainMetadata":
			a.Domain = readDomain(r)
		case "commitInfo":
			a.CommitInfo = readCommitInfo(r)
		case "sidecar":
			a.Sidecar = readSidecar(r)
		default:
			a.CDC = a.CDC || kind == "cdc"
			r.Raw()
		}
	})
	return a, err
}

// parseLine calls action for each member of a line that has a value; a row of a checkpoint has the others as null.
func parseLine(line []byte, action func(kind string, r *exactjson.Reader)) error {
	r := exactjson.NewReader(line)
	r.Object(func(name []byte) {
		if !r.Null() {
			action(string(name), r)
		}
	})
	return r.End()
}

func readProtocol(r *exactjson.Reader) *Protocol {
	p := &Protocol{}
	r.Object(func(name []byte) {
		switch string(name) {
		case "minReaderVersion":
			p.MinReader = int(r.Long(32))
		case "minWriterVersion":
			p.MinWriter = int(r.Long(32))
		case "readerFeatures":
			p.ReaderFeatures = readTexts(r)
		case "writerFeatures":
			p.WriterFeatures = readTexts(r)
		default:
			p.other.keep(name, r)
		}
	})
	return p
}

func readMetadata(r *exactjson.Reader) *Metadata {
	m := &Metadata{}
	r.Object(func(name []byte) {
		switch string(name) {
		case "id":
			m.ID = r.Text()
		case "name":
			m.Name = readText(r)
		case "description":
			m.Description = readText(r)
		case "format":
			r.Object(func(name []byte) {
				switch string(name) {
				case "provider":
					m.Provider = r.Text()
				case "options":
					m.FormatOptions = readPairs(r)
				default:
					r.Raw()
				}
			})
		case "schemaString":
			m.SchemaString = r.Text()
		case "partitionColumns":
			m.PartitionColumns = readTexts(r)
		case "createdTime":
			m.CreatedTime = readLong(r)
		case "configuration":
			m.Configuration = readPairs(r)
		default:
			m.other.keep(name, r)
		}
	})
	return m
}

func readAdd(r *exactjson.Reader) *Add {
	a := &Add{}
	r.Object(func(name []byte) {
		switch string(name) {
		case "path":
			a.Path = r.Text()
		case "partitionValues":
			a.Partition = readPairs(r)
		case "size":
			a.Size = r.Long(64)
		case "modificationTime":
			a.ModificationTime = r.Long(64)
		case "dataChange":
			a.DataChange = r.Bool()
		case "stats":
			a.Stats = r.Text()
		case "tags":
			a.tags = readRaw(r)
		case "deletionVector":
			a.DeletionVector = readVector(r)
		case "baseRowId":
			a.BaseRowID = readLong(r)
		case "defaultRowCommitVersion":
			a.RowCommitVersion = readLong(r)
		case "clusteringProvider":
			a.Clustering = r.Text()
		case "stats_parsed", "partitionValues_parsed":
			r.Raw() // what a checkpoint says twice
		default:
			a.other.keep(name, r)
		}
	})
	if a.Path == "" {
		r.Fail("the add has no path")
	}
	return a
}

func readRemove(r *exactjson.Reader) *Remove {
	m := &Remove{DataChange: true}
	r.Object(func(name []byte) {
		switch string(name) {
		case "path":
			m.Path = r.Text()
		case "deletionTimestamp":
			m.DeletionTimestamp = r.Long(64)
		case "dataChange":
			m.DataChange = r.Bool()
		case "extendedFileMetadata":
			m.Extended = r.Bool()
		case "partitionValues":
			m.Partition = readPairs(r)
		case "size":
			m.Size = r.Long(64)
		case "tags":
			m.tags = readRaw(r)
		case "deletionVector":
			m.DeletionVector = readVector(r)
		case "baseRowId":
			m.BaseRowID = readLong(r)
		case "defaultRowCommitVersion":
			m.RowCommitVersion = readLong(r)
		case "stats":
			r.Raw() // no tombstone needs them
		default:
			m.other.keep(name, r)
		}
	})
	if m.Path == "" {
		r.Fail("the remove has no path")
	}
	return m
}

func readTxn(r *exactjson.Reader) *Txn {
	t := &Txn{}
	r.Object(func(name []byte) {
		switch string(name) {
		case "appId":
			t.AppID = r.Text()
		case "version":
			t.Version = r.Long(64)
		case "lastUpdated":
			t.LastUpdated = readLong(r)
		default:
			r.Raw()
		}
	})
	return t
}

func readDomain(r *exactjson.Reader) *Domain {
	d := &Domain{}
	r.Object(func(name []byte) {
		switch string(name) {
		case "domain":
			d.Name = r.Text()
		case "configuration":
			d.Configuration = r.Text()
		case "removed":
			d.Removed = r.Bool()
		default:
			r.Raw()
		}
	})
	return d
}

func readCommitInfo(r *exactjson.Reader) *CommitInfo {
	c := &CommitInfo{Members: r.Raw()}
	if len(c.Members) == 0 || c.Members[0] != '{' {
		return c // any JSON is allowed
	}
	in := exactjson.NewReader(c.Members)
	in.Object(func(name []byte) {
		switch string(name) {
		case "inCommitTimestamp":
			c.InCommitTimestamp = readLong(in)
		case "isBlindAppend":
			// Provenance is free text of the writer: what is no boolean tells nothing.
			c.BlindAppend = string(in.Raw()) == "true"
		default:
			in.Raw()
		}
	})
	if err := in.Err(); err != nil {
		r.Fail(err.Error())
	}
	return c
}

// CommitText gives a text of a commit's own words, as the id that its writer put there; empty if it has none.
func (c *CommitInfo) CommitText(name string) string {
	var text string
	r := exactjson.NewReader(c.Members)
	r.Object(func(member []byte) {
		if raw := r.Raw(); string(member) == name && len(raw) > 0 && raw[0] == '"' {
			text = exactjson.NewReader(raw).Text()
		}
	})
	return text
}

func readSidecar(r *exactjson.Reader) *Sidecar {
	s := &Sidecar{}
	r.Object(func(name []byte) {
		if string(name) == "path" {
			s.Path = r.Text()
		} else {
			r.Raw()
		}
	})
	return s
}

func (m *members) keep(name []byte, r *exactjson.Reader) {
	// A row of a checkpoint has a null for every member that other rows have.
	if value := readRaw(r); value != nil {
		*m = append(*m, member{string(name), value})
	}
}

func readRaw(r *exactjson.Reader) []byte {
	if r.Null() {
		return nil
	}
	return r.Raw()
}

func readText(r *exactjson.Reader) *string {
	if r.Null() {
		return nil
	}
	text := r.Text()
	return &text
}

func readLong(r *exactjson.Reader) *int64 {
	if r.Null() {
		return nil
	}
	n := r.Long(64)
	return &n
}

// readTexts gives a list that is not nil unless it is null: an empty list of features is one.
func readTexts(r *exactjson.Reader) []string {
	if r.Null() {
		return nil
	}
	all := []string{}
	r.Array(func() { all = append(all, r.Text()) })
	return all
}

func readPairs(r *exactjson.Reader) []Pair {
	var all []Pair
	r.Object(func(name []byte) {
		all = append(all, Pair{string(name), readText(r)})
	})
	return all
}
