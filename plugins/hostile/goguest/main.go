// Command goguest is a writer that does what its option "do" says, with Go's runtime between it and the
// engine. Tests build it; nothing else does.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

func init() { sdk.Serve(guest{}) }

func main() {}

type guest struct{}

func (guest) Describe() abi.Description {
	return abi.Description{Name: "goguest", Version: "1", Modes: []abi.Mode{{Name: "append", Class: abi.ClassClaims}},
		Options: abi.JSON(`{}`), Capabilities: []abi.Capability{abi.CapRelation, abi.CapFiles}}
}

func (guest) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	switch req.Output.Options["do"] {
	case "panic":
		panic("out of ideas")
	case "exit":
		os.Exit(3)
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
		}
	case "block":
		<-make(chan int)
	case "look":
		return look(req)
	}
	return abi.PlanAnswer{Class: abi.ClassClaims, Target: req.Output.Target, Will: "copy the rows"}, nil
}

// look says what of the machine a module can see.
func look(req abi.PlanRequest) (abi.PlanAnswer, error) {
	before := time.Now()
	time.Sleep(time.Second)
	_, file := os.ReadFile("/etc/passwd")
	_, dir := os.ReadDir("/")
	return abi.PlanAnswer{Class: abi.ClassClaims, Target: req.Output.Target, Will: fmt.Sprintf(
		"args %d, environment %v, file %t, folder %t, clock %d, slept %t",
		len(os.Args), os.Environ(), file == nil, dir == nil, before.Year(), time.Since(before) >= time.Second)}, nil
}

// Stage copies the relation's Arrow messages into one file.
func (guest) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	count, err := h.Count(req.Relation)
	if err != nil {
		return abi.StageAnswer{}, err
	}
	derived, err := h.Derive(abi.DeriveRequest{SQL: "SELECT * FROM r", Inputs: []abi.DeriveInput{{Name: "r", Relation: req.Relation}}})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	rows, err := h.Rows(abi.RowsRequest{Relation: derived})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	file, err := h.CreateFile(abi.FileCreateRequest{Extension: "arrows"})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	for {
		message, err := rows.Message()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return abi.StageAnswer{}, err
		}
		if _, err := file.Write(message); err != nil {
			return abi.StageAnswer{}, err
		}
	}
	closed, err := file.Close()
	if err != nil {
		return abi.StageAnswer{}, err
	}
	h.Log(abi.LevelInfo, "copied "+closed.Name)
	staged := abi.StagedFile{Name: closed.Name, Rows: count, Bytes: closed.Bytes}
	return abi.StageAnswer{Files: []abi.StagedFile{staged}, Rows: count}, nil
}
