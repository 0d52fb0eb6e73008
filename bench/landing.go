package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// limitedRun is the large case under a memory limit.
func limitedRun(csv string) side {
	s := pipelineRun(csv)
	s.prepare = func(dir string) error {
		text := bytes.Replace(fmt.Appendf(nil, pipeline, csv), []byte("tasks:"), []byte("engine: {memory: 1GiB}\ntasks:"), 1)
		return os.WriteFile(filepath.Join(dir, "pipeline.yaml"), text, 0o666)
	}
	return s
}

const partitioned = orders + `    transform:
      out: SELECT * FROM raw
    outputs:
      out: {format: csv, path: lake, partition_by: [id]}
`

// landingRun is a run that lands a file in each of many folders, which are there. What counts is the time from the
// beginning of its commit until its files have landed, as its events tell it.
func landingRun(csv string, files int) side {
	return side{took: func(said []byte) (time.Duration, error) { return landingTime(said, int64(files)) },
		prepare: func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), fmt.Appendf(nil, partitioned, csv), 0o666); err != nil {
				return err
			}
			return exec.Command(abs(peer), "folders", filepath.Join(dir, "lake"), fmt.Sprint(files)).Run()
		},
		command: func(dir string) *exec.Cmd {
			cmd := runCommand(ubunye, dir)
			cmd.Args = append(cmd.Args, "--json")
			return cmd
		}}
}

func landingTime(said []byte, files int64) (time.Duration, error) {
	var begun, landed time.Time
	for line := range bytes.Lines(said) {
		var e struct {
			Time  time.Time `json:"time"`
			Event string    `json:"event"`
			Step  string    `json:"step"`
			Files int64     `json:"files"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, err
		}
		switch {
		case e.Event == "step_started" && e.Step == "commit":
			begun = e.Time
		case e.Event == "output_landed" && e.Files == files:
			landed = e.Time
		}
	}
	if begun.IsZero() || landed.IsZero() {
		return 0, errors.New("its events do not tell when it committed and landed")
	}
	return landed.Sub(begun), nil
}

// landingPeer renames as many files between folders that are there, and tells how long that took.
func landingPeer(files int) side {
	return side{
		prepare: func(dir string) error {
			for _, folder := range []string{"lake", "staging"} {
				if err := exec.Command(abs(peer), "folders", filepath.Join(dir, folder), fmt.Sprint(files)).Run(); err != nil {
					return err
				}
			}
			return exec.Command(abs(peer), "stage", filepath.Join(dir, "staging"), fmt.Sprint(files)).Run()
		},
		command: func(dir string) *exec.Cmd {
			return exec.Command(abs(peer), "land", filepath.Join(dir, "staging"), filepath.Join(dir, "lake"))
		},
		took: func(said []byte) (time.Duration, error) {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(said)), 10, 64)
			return time.Duration(n), err
		}}
}
