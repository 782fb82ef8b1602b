package packing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/farhash/farhash/explore"
	"github.com/farhash/farhash/petri"
	"github.com/farhash/farhash/petri/property"
	"github.com/farhash/farhash/rma"
)

// guesses are the bits that a place without a structural bound gets, one after the
// other, until the search fits. All ranks widen alike.
var guesses = []int{8, 16, 32}

// Search explores a net. Ranks of one process share it, so that each packing is made
// once; it is safe for concurrent use.
type Search struct {
	net        *petri.Net
	properties []property.Property

	mu       sync.Mutex
	packings map[int]*Packing // by guess
}

// NewSearch returns a search of net that answers properties. With properties it ends when
// all are answered, without it finds all markings.
func NewSearch(net *petri.Net, properties ...property.Property) *Search {
	return &Search{net: net, properties: properties, packings: map[int]*Packing{}}
}

// packing is the net's packing with a guess.
func (s *Search) packing(guessBits int) (*Packing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.packings[guessBits]; p != nil {
		return p, nil
	}
	clear(s.packings) // ranks widen together, and a packing may be large
	p, err := New(s.net, Options{GuessBits: guessBits, Properties: s.properties})
	if err == nil {
		s.packings[guessBits] = p
	}
	return p, err
}

// Run explores all reachable markings on the ranks of job. A search that outgrows a
// guessed packing is begun again with a wider one. Options.Live is filled in, and ModelID, so that
// a checkpoint is resumed with the packing that it was made with. Collective; the packing
// returned is the one that fit.
func (s *Search) Run(ctx context.Context, job rma.Job, opts explore.Options) (
	*explore.Result, *Packing, error) {
	for i, bits := range guesses {
		p, err := s.packing(bits)
		if err != nil {
			return nil, nil, err
		}
		if opts.ModelID, err = p.identity(s, bits); err != nil {
			return nil, nil, err
		}
		opts.Live = p.live()
		res, err := explore.Run(ctx, job, p, opts)
		var overflow *explore.OverflowError
		var other *explore.OtherModelError
		again := errors.As(err, &overflow) || errors.As(err, &other)
		if again && p.guessed() && i < len(guesses)-1 {
			if overflow != nil {
				opts.Resume = "" // its states do not fit the wider packing
			}
			continue
		}
		return res, p, err
	}
	return nil, nil, errors.New("packing: no guess is left") // not reached: the last one returns
}

// identity is a text that differs between nets, between packings of a net and between questions.
func (p *Packing) identity(s *Search, guessBits int) (string, error) {
	h := xxh3.New()
	if err := petri.Write(h, s.net); err != nil {
		return "", err
	}
	if len(s.properties) > 0 { // a checkpoint has what was found out about them
		if err := json.NewEncoder(h).Encode(s.properties); err != nil {
			return "", err
		}
	}
	if !p.guessed() {
		guessBits = 0
	}
	return fmt.Sprintf("net %016x, %d bits, guess %d", h.Sum64(), p.bits, guessBits), nil
}

// errUnlikeNet means that a trace is not one of the net's.
var errUnlikeNet = errors.New("packing: a step of the trace is no firing of the net; " +
	"this is a bug of farhash")

// Firings are the transitions of a trace. Each is fired on the net itself: a trace that is none
// of the net is an error.
func (p *Packing) Firings(trace []explore.Step) ([]int, error) {
	if len(trace) == 0 {
		return nil, nil
	}
	marking := p.net.Initial()
	state := make([]uint64, p.words)
	firings := make([]int, 0, len(trace)-1)
	for i, step := range trace {
		if i > 0 {
			t := p.successor(marking, step.Action)
			if t < 0 {
				return nil, errUnlikeNet
			}
			p.net.Transitions[t].Fire(marking)
			firings = append(firings, t)
		}
		if err := p.pack(marking, state); err != nil || !slices.Equal(state, step.State) {
			return nil, errors.Join(errUnlikeNet, err)
		}
	}
	return firings, nil
}

// successor is the transition that gives the successor of that number in the order of Expand; -1
// if there is none.
func (p *Packing) successor(marking []int64, number int) int {
	for i := range p.program.slots {
		t := p.program.slots[i].transition
		if t < 0 || !p.net.Transitions[t].Enabled(marking) {
			continue
		}
		if number == 0 {
			return t
		}
		number--
	}
	return -1
}
