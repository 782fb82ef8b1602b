//go:build linux

package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/statespace/petri"
)

// strikeFile gives farhash nets and checkpoints that are broken.
func strikeFile(r *round) error {
	if r.IntN(2) == 0 {
		return r.breakNet()
	}
	return r.breakCheckpoint()
}

// breakNet explores files that once were nets: as they are read now, or not at all.
func (r *round) breakNet() error {
	m, err := r.small()
	if err != nil {
		return err
	}
	good, err := os.ReadFile(m.path)
	if err != nil {
		return err
	}
	for range 10 {
		text := slices.Clone(good)
		for range 1 + r.IntN(3) {
			text = r.spoil(text, nil, 1)
		}
		if err := os.WriteFile(m.path, text, 0o600); err != nil {
			return err
		}
		var bad error
		if m.Net, bad = petri.Read(bytes.NewReader(text)); bad == nil {
			m.want, _ = naive.Explore(m.Net, maxNaiveStates)
		}
		c := r.command(nil, r.programs["plain"], "explore", m.path, "--json", "-q", "--mem=128MiB")
		if err := c.run(m.patience()); err != nil {
			return err
		}
		if bad != nil {
			if c.code() == 0 {
				return c.wrong("this file is no net: %v", bad)
			}
			continue
		}
		if err := c.answers(m); err != nil {
			return err
		}
	}
	return nil
}

// checkpointed explores a net and returns the last checkpoint on the way, if there was one.
func (r *round) checkpointed(m *model, order string) ([]byte, error) {
	file := r.path("checkpoint")
	c, err := r.run(r.programs["plain"], "explore", m.path, "-q", "--json", "--checkpoint="+file,
		"--every=1ms", "--direct=false", "--order="+order)
	if err == nil && c.code() != 0 {
		err = c.wrong("it fails")
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return text, err
}

// breakCheckpoint continues with checkpoints that are broken, or of two that are mixed.
func (r *round) breakCheckpoint() error {
	order := pick(r, "bfs", "any")
	other, err := r.family(6)
	m, err2 := r.family(6)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	donor, err := r.checkpointed(pick(r, other, m), order)
	good, err2 := r.checkpointed(m, order)
	if err = errors.Join(err, err2); err != nil || len(good) == 0 {
		return err
	}
	for range 10 {
		text := slices.Clone(good)
		for range 1 + r.IntN(3) {
			text = r.spoil(text, donor, pick(r, 1, 8, 32, 4096, 32+1<<18))
		}
		file := r.path("broken")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		c, err := r.run(r.programs["plain"], "explore", m.path, "--json", "-q", "--check",
			"--order="+order, "--resume="+file)
		if err != nil {
			return err
		}
		if err := c.answers(m); err != nil {
			return err
		}
		r.count(1, fmt.Sprint("broken checkpoints with exit code ", c.code()))
	}
	return nil
}

// spoil changes a file in one way, or puts in a part of another. Places are often multiples of
// a unit, also after the header that checkpoints have.
func (r *round) spoil(text, donor []byte, unit int) []byte {
	if len(text) == 0 {
		return text
	}
	at := r.IntN(min(len(text), 4096)) // more happens near the beginning
	if r.IntN(3) != 0 {
		at = min(r.IntN(len(text)/unit+1)*unit+pick(r, 0, 4096), len(text)-1)
	}
	part := text[at:min(len(text), at+pick(r, 1, 8, unit, r.IntN(len(text))+1))]
	switch r.IntN(8) {
	case 0:
		return text[:at]
	case 1, 2:
		part[0] ^= 1 << r.IntN(8)
	case 3:
		clear(part)
	case 4:
		return slices.Delete(text, at, at+len(part))
	case 5:
		return slices.Insert(text, at, slices.Clone(part)...)
	case 6:
		copy(part, donor[min(len(donor), pick(r, at, r.IntN(len(donor)+1))):])
	case 7:
		return slices.Insert(text, at, []byte(pick(r, "<", ">", "&", "0", "9", "</", "\x00",
			"<net>", "-1", "99999999999999999999", "<place id=\"p\"/>", "\xff"))...)
	}
	return text
}
