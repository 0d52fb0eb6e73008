package writer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/bundle"
)

// Inspection is what is known of a module without giving it anything to write.
type Inspection struct {
	SHA256  string // hexadecimal
	Size    int64  // bytes
	Writers []abi.Description
}

// Inspect says what a module is. For a built-in it runs nothing, and has that writer alone; a file is
// asked once, then its answer is kept in the cache, by digest. Errors are of type *Error.
func (h *Host) Inspect(ctx context.Context, m Module, l Limits) (Inspection, error) {
	if m.Path == "" {
		b, d, ok := h.index.Writer(m.Name)
		if !ok {
			return Inspection{}, noBuiltin(m)
		}
		return Inspection{SHA256: b.SHA256, Size: int64(b.Size), Writers: []abi.Description{d}}, nil
	}
	wasm, digest, e := readModule(m)
	if e != nil {
		e.Plugin = m.Name
		return Inspection{}, e
	}
	answer, kept := h.keptDescription(digest)
	if !kept {
		var err error
		if answer, err = h.askDescription(ctx, m, l, digest); err != nil {
			return Inspection{}, err
		}
	}
	return Inspection{SHA256: digest, Size: int64(len(wasm)), Writers: answer.Writers}, nil
}

// Choose picks the writer that m means.
func (i Inspection) Choose(m Module) (abi.Description, error) {
	d, err := chooseWriter(i.Writers, m)
	if err != nil {
		return d, &Error{Plugin: m.Name, Call: string(abi.CallDescribe), Kind: Incompatible, Message: err.Error()}
	}
	return d, nil
}

func (h *Host) askDescription(ctx context.Context, m Module, l Limits, digest string) (abi.DescribeAnswer, error) {
	m.SHA256 = digest // the file that is run is the one that was read
	s, err := h.Start(ctx, m, l, Grants{})
	if err != nil {
		return abi.DescribeAnswer{}, err
	}
	defer s.Close()
	answer, err := s.Describe(ctx)
	if err == nil {
		h.keepDescription(digest, answer)
	}
	return answer, err
}

// descriptionFile is where a description is kept, in the first folder that can be used.
func (h *Host) descriptionFile(digest string) (cache, string, error) {
	for _, c := range h.caches {
		if dir, err := c.folder("described"); err == nil {
			return c, filepath.Join(dir, fmt.Sprintf("%s-abi%d.json", digest, abi.Version)), nil
		}
	}
	return cache{}, "", errors.New("no folder can be used")
}

// keptDescription returns what was kept; what cannot be read or makes no sense counts as not kept.
func (h *Host) keptDescription(digest string) (answer abi.DescribeAnswer, ok bool) {
	_, path, err := h.descriptionFile(digest)
	if err != nil {
		return answer, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return answer, false
	}
	var kept described
	if json.Unmarshal(data, &kept) != nil || bundle.Digest(kept.Answer) != kept.SHA256 {
		return answer, false
	}
	return answer, strict(kept.Answer, &answer) == nil && checkDescribe(answer) == nil
}

// described is the form in which an answer is kept.
type described struct {
	SHA256 string          `json:"sha256"`
	Answer json.RawMessage `json:"answer"`
}

// keepDescription is for speed alone: what cannot be kept is asked again.
func (h *Host) keepDescription(digest string, answer abi.DescribeAnswer) {
	c, path, err := h.descriptionFile(digest)
	if err != nil {
		return
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return
	}
	if data, err = json.Marshal(described{SHA256: bundle.Digest(data), Answer: data}); err == nil {
		_ = c.fs.Replace(temporary(path), path, data, 0o600)
	}
}
