package delta

import (
	"errors"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// state is what commit must know of stage, which may have run in another process.
type state struct {
	version   int64    // of the table that was looked at; -1: there was none
	identity  string   // of its protocol and metadata
	schema    string   // of the table with the write, as the log has it
	added     []string // columns that the table did not have
	partition []string
	copied    []string // files whose rows are in the staged ones, or do not stay; by deltalog's keys
	low, high []string // of a merge: the least and the greatest value of each key; empty: not known
}

func (s *state) encode() []byte {
	w := &exactjson.Writer{}
	w.Object(func() {
		w.Name("version").Long(s.version)
		w.Name("identity").Text(s.identity)
		w.Name("schema").Text(s.schema)
		for _, l := range s.lists() {
			w.Name(l.name).Array(func() {
				for _, text := range *l.texts {
					w.Text(text)
				}
			})
		}
	})
	return w.Bytes()
}

type stateList struct {
	name  string
	texts *[]string
}

func (s *state) lists() []stateList {
	return []stateList{{"added", &s.added}, {"partition", &s.partition}, {"copied", &s.copied}, {"low", &s.low}, {"high", &s.high}}
}

func decodeState(data []byte) (*state, error) {
	s := &state{version: -1}
	r := exactjson.NewReader(data)
	r.Object(func(name []byte) {
		switch string(name) {
		case "version":
			s.version = r.Long(64)
		case "identity":
			s.identity = r.Text()
		case "schema":
			s.schema = r.Text()
		default:
			for _, l := range s.lists() {
				if l.name == string(name) {
					r.Array(func() { *l.texts = append(*l.texts, r.Text()) })
					return
				}
			}
			r.Raw()
		}
	})
	if err := r.End(); err != nil || s.schema == "" {
		return nil, errors.New("what stage noted cannot be read")
	}
	return s, nil
}
