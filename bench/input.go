package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// strictPipeline is the pipeline with every row held against the declaration, and an output for those that are not like it.
func strictPipeline(csv string) side {
	s := pipelineRun(csv)
	s.prepare = func(dir string) error {
		text := fmt.Sprintf(orders, csv)
		text = text[:len(text)-len("}\n")] + ", rejects: bad}\n" + pipeline[len(orders):] + "      bad: {format: csv, path: bad}\n"
		return os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o666)
	}
	return s
}

// splitFile makes files of so many rows each of a csv file, with its header, in a folder that it makes; it is left if it is there.
func splitFile(csv, folder string, rows int) (err error) {
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	from, err := os.Open(csv)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	making := folder + ".making"
	if err := os.MkdirAll(making, 0o777); err != nil {
		return err
	}
	lines := bufio.NewScanner(from)
	lines.Scan()
	header := lines.Text()
	for n := 0; ; n++ {
		some, left, err := readLines(lines, rows)
		if err != nil {
			return err
		}
		if len(some) > 0 {
			if err := os.WriteFile(filepath.Join(making, fmt.Sprintf("part-%05d.csv", n)), []byte(header+"\n"+some), 0o666); err != nil {
				return err
			}
		}
		if !left {
			return os.Rename(making, folder)
		}
	}
}

func readLines(lines *bufio.Scanner, n int) (text string, left bool, err error) {
	var all []byte
	for range n {
		if !lines.Scan() {
			return string(all), false, lines.Err()
		}
		all = append(append(all, lines.Bytes()...), '\n')
	}
	return string(all), true, nil
}
