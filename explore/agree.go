package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/rma"
)

// trait is what ranks must have in common, or they would search for different things.
type trait struct{ name, value string }

// traits are those of this rank's search.
func (s *search) traits() []trait {
	return []trait{
		{"model", fmt.Sprint(s.opts.ModelID, s.bits, s.initial)},
		{"order", string(s.opts.Order)},
		{"encoding", string(s.encoding)},
		{"mem", fmt.Sprint(s.opts.Mem)},
		{"mem whole", fmt.Sprint(s.opts.MemWhole)},
		{"number of findings", fmt.Sprint(s.findings)},
		{"trace", fmt.Sprint(s.opts.Trace)},
		{"live", fmt.Sprint(s.opts.Live)},
		{"check", fmt.Sprint(s.opts.Check)},
		{"checkpoint", s.opts.Checkpoint},
		{"resume", s.opts.Resume},
	}
}

// A rank's words: a mask of the traits in which it differs from rank 0, with spread where it is on
// another host and refused where it cannot search at all, a hash of each trait, and the name of its
// host.
const (
	hostWords = 8 // names are cut off
	spread    = 1 << 63
	refused   = 1 << 62
)

// agree makes sure that all ranks search for the same, and reports to all what differs. failure
// is why this rank cannot search, nil if it can. Collective.
func (s *search) agree(ctx context.Context, failure error) error {
	mine := s.traits()
	w, err := s.job.NewWindow(ctx, rma.Spec{Name: "explore: options",
		Words: 1 + len(mine) + hostWords})
	if err != nil {
		return err
	}
	cells, err := rma.NewCells(s.job, w)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	err = s.compare(ctx, cells, mine, failure != nil)
	if failure != nil {
		err = failure
	}
	return errors.Join(err, cells.Close(), w.Close())
}

// compare compares each rank's traits with those of rank 0, and finds out who is on which host.
func (s *search) compare(ctx context.Context, cells *rma.Cells, mine []trait,
	fails bool) error {
	rank := s.job.Rank()
	words := []uint64{0}
	for _, t := range mine {
		words = append(words, xxh3.HashString(t.value))
	}
	words = append(words, thisHost()...)
	for i, word := range words {
		if err := cells.Store(ctx, rank, i, word); err != nil {
			return err
		}
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	differs := uint64(0)
	for i := 1; i < len(words); i++ {
		first, err := cells.Load(ctx, 0, i)
		if err != nil {
			return err
		}
		switch {
		case first == words[i]:
		case i <= len(mine):
			differs |= 1 << (i - 1)
		default:
			differs |= spread
		}
	}
	if fails {
		differs = refused
	}
	if err := cells.Store(ctx, rank, 0, differs); err != nil {
		return err
	}
	if err := s.job.Barrier(ctx); err != nil {
		return err
	}
	// Nobody closes what others still read.
	return errors.Join(s.learn(ctx, cells, mine), s.job.Barrier(ctx))
}

// learn reads what the others have found out.
func (s *search) learn(ctx context.Context, cells *rma.Cells, mine []trait) error {
	all := uint64(0)
	var failure error
	for other := 0; other < s.job.Size() && failure == nil; other++ {
		mask, err := cells.Load(ctx, other, 0)
		if err != nil {
			return err
		}
		all |= mask
		if failure = differing(other, mask, mine); mask&refused != 0 {
			failure = &rma.PeerError{What: "explore", Rank: other}
		}
	}
	if failure != nil || all&spread == 0 {
		return failure
	}
	for other := range s.job.Size() {
		var name []uint64
		for i := range hostWords {
			word, err := cells.Load(ctx, other, 1+len(mine)+i)
			if err != nil {
				return err
			}
			name = append(name, word)
		}
		s.hosts = append(s.hosts, string(bytes.TrimRight(bytesOf(name), "\x00")))
	}
	return nil
}

// thisHost is the name of this host.
func thisHost() []uint64 {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "an unnamed host"
	}
	words := make([]uint64, hostWords)
	copy(bytesOf(words), name)
	return words
}

// differing is the error for a rank that differs from rank 0 in some traits.
func differing(rank int, mask uint64, mine []trait) error {
	var names []string
	for i, t := range mine {
		switch {
		case mask&(1<<i) == 0:
		case i == 0:
			names = append(names, t.name)
		default:
			names = append(names, fmt.Sprintf("%s (here %q)", t.name, t.value))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("explore: rank %d has another %s than rank 0; give every rank the same",
		rank, strings.Join(names, " and "))
}
