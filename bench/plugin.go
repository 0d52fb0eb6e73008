package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// guest is a plugin in Go whose rows all pass through rows_next and file_write.
const guest = "configs/fixedwidth/fixedwidth.wasm"

const throughPipeline = orders + `    transform:
      out: SELECT id, customer, amount, qty, country, ordered FROM raw
    outputs:
      out: {format: %s, path: lake%s}
`

// guestRun writes rows by the guest.
func guestRun(csv string) side {
	s := pipelineRun(csv)
	s.prepare = func(dir string) error {
		module, err := os.ReadFile(guest)
		if err != nil {
			return err
		}
		text := fmt.Appendf(nil, throughPipeline+"plugins: {fixedwidth: {path: %q, sha256: %x, allow: {files: true}}}\n", csv, "fixedwidth",
			`, options: {widths: id=12 customer=12 amount=16 qty=6 country=4 ordered=10}`, abs(guest), sha256.Sum256(module))
		return os.WriteFile(filepath.Join(dir, "pipeline.yaml"), text, 0o666)
	}
	return s
}

// encoderRun writes the same rows as text by the compute engine's own encoder.
func encoderRun(csv string) side {
	s := pipelineRun(csv)
	s.prepare = func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "pipeline.yaml"), fmt.Appendf(nil, throughPipeline, csv, "csv", ""), 0o666)
	}
	return s
}
