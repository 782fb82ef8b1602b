//go:build ucx && cgo

package ucx

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"unsafe"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/star"
)

var _ rma.Rejoiner = (*Job)(nil)

// state is what a rank that joins again is told of the job, as it was before any rank was lost.
type state struct {
	Version          uint64
	Hidden, Coherent bool
	Addresses        [][]byte // of the workers of UCX, by rank
	Windows          []offer
}

// offer is a window that such a rank may take over.
type offer struct {
	Number uint32
	Name   string
	Words  int
	Gifts  [][]byte // by rank: what opens its segment
}

// successors is what a rank knows of those that have joined again.
type successors struct {
	mu    sync.Mutex
	lives []int // by rank: the life whose memory is reached
	// gifts are by number of a window and by rank: what opens the new segment. Windows may be
	// taken over here later than there.
	gifts   map[uint32][][]byte
	returns uint64  // how often a rank has come back
	offers  []offer // to this rank, if it has joined again itself: what it has not taken over
	again   bool
}

// describe is what a rank that joins again is told. Of rank 0.
func (j *Job) describe() []byte {
	s := state{Version: protocolVersion, Hidden: j.near.Memory == nil, Coherent: j.coherent,
		Addresses: j.addresses}
	j.after.mu.Lock()
	for _, w := range j.windows {
		if !w.closed.Load() {
			s.Windows = append(s.Windows, offer{w.number, w.name, w.words, w.gifts})
		}
	}
	j.after.mu.Unlock()
	text, _ := json.Marshal(s) // nothing in it can fail
	return text
}

// rejoin takes the place of a rank that has died.
func (j *Job) rejoin(ctx context.Context, cfg Config) error {
	var s state
	if err := json.Unmarshal(j.star.State(), &s); err != nil {
		return fmt.Errorf("rma/ucx: joining again: %w; run the same program on every rank", err)
	}
	if s.Version != protocolVersion || s.Hidden != cfg.Hidden || len(s.Addresses) != j.size {
		return fmt.Errorf("rma/ucx: this rank has version %d of the engine and hides windows: %v; "+
			"the job has %d and %v; run the same program in the same way on every rank",
			protocolVersion, cfg.Hidden, s.Version, s.Hidden)
	}
	j.after.again, j.after.offers = true, s.Windows
	j.coherent, j.hidden = s.Coherent, s.Hidden
	address, err := j.start()
	if err != nil {
		return err
	}
	for rank, a := range s.Addresses {
		life, _ := j.star.Life(rank)
		if j.after.lives[rank] = life; rank == j.rank {
			a = address
			C.fu_reborn(j.c, C.int(life))
		}
		C.fu_peer(j.c, C.int(rank), unsafe.Pointer(unsafe.SliceData(a)), C.int(len(a)))
	}
	if err := j.serveOthers(); err != nil {
		return err
	}
	j.watch.begin(j)
	if err := j.star.Return(ctx, address); err != nil {
		return err
	}
	return j.watch.present(ctx)
}

// takeOver makes a window that the job has.
func (j *Job) takeOver(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	o, err := j.after.choose(spec)
	if err != nil {
		return nil, err
	}
	w := &Window{job: j, name: o.Name, number: o.Number, words: o.Words,
		views: make([][]uint64, j.size)}
	var gift []byte
	if err = w.reserve(ctx, spec, true); err == nil {
		gift, err = w.register()
	}
	if err != nil {
		_ = w.free()
		return nil, fmt.Errorf("taking over window %q: %w", spec.Name, err)
	}
	if !j.hidden {
		w.views[j.rank] = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(w.mem))), w.words)
	}
	j.after.mu.Lock()
	for rank, theirs := range o.Gifts {
		if j.after.lives[rank] > 0 {
			theirs = j.after.gift(o.Number, rank, j.size)
		}
		if rank == j.rank {
			theirs = gift
		}
		w.accept(rank, theirs)
	}
	j.windows = append(j.windows, w)
	j.after.mu.Unlock()
	err = j.star.Note(ctx, append(binary.LittleEndian.AppendUint32(nil, o.Number), gift...))
	if err != nil {
		return nil, fmt.Errorf("taking over window %q: %w", spec.Name, err)
	}
	return w, nil
}

// choose finds the next window of a name.
func (a *successors) choose(spec rma.Spec) (o offer, err error) {
	var names []string
	for i, o := range a.offers {
		if o.Name != spec.Name {
			names = append(names, fmt.Sprintf("%q", o.Name))
			continue
		}
		if o.Words != spec.Words {
			return o, fmt.Errorf("rma/ucx: this rank has joined again, and its window %q would "+
				"have %d words per rank, while that of the job has %d; run the same program with "+
				"the same configuration", spec.Name, spec.Words, o.Words)
		}
		a.offers = a.offers[i+1:]
		return o, nil
	}
	return o, fmt.Errorf("rma/ucx: this rank has joined again and can only take over windows that "+
		"the job has, in their order; there is no further one %q, but %v; run the same program "+
		"with the same configuration", spec.Name, names)
}

// gift is what a rank that has joined again gave for a window, or nil.
func (a *successors) gift(number uint32, rank, size int) []byte {
	if all := a.gifts[number]; all != nil {
		return all[rank]
	}
	return nil
}

// happen acts upon what has happened to another rank.
func (j *Job) happen(e star.Event) {
	switch e.Kind {
	case star.Gone:
		// When all have left, whoever is faster ends first.
		if fates, _ := j.star.Fates(); !j.closing.Load() || fates[e.Rank] != star.Left {
			C.fu_lose(j.c, C.int(e.Rank))
		}
	case star.Returned:
		j.revive(e)
	case star.Noted:
		j.noted(e)
	}
	j.star.Act(e)
}

// revive has a process take the place of a rank. Its windows follow.
func (j *Job) revive(e star.Event) {
	j.after.mu.Lock()
	defer j.after.mu.Unlock()
	var pace rma.Backoff
	for C.fu_revive(j.c, C.int(e.Rank), C.int(e.Life), unsafe.Pointer(unsafe.SliceData(e.Data)),
		C.int(len(e.Data))) == C.FH_PENDING {
		pace.Pause()
	}
	for _, gifts := range j.after.gifts {
		gifts[e.Rank] = nil
	}
	j.after.lives[e.Rank] = e.Life
	j.after.returns++
}

// noted takes what opens the new segment of a rank.
func (j *Job) noted(e star.Event) {
	if len(e.Data) <= 12 {
		return
	}
	number, gift := binary.LittleEndian.Uint32(e.Data), e.Data[4:]
	j.after.mu.Lock()
	defer j.after.mu.Unlock()
	if j.after.gifts == nil {
		j.after.gifts = map[uint32][][]byte{}
	}
	if j.after.gifts[number] == nil {
		j.after.gifts[number] = make([][]byte, j.size)
	}
	j.after.gifts[number][e.Rank] = gift
	for _, w := range j.windows {
		if w.number == number {
			w.accept(e.Rank, gift)
		}
	}
}

// Rejoined tells whether this process has taken the place of a rank that had died.
func (j *Job) Rejoined() bool { return j.after.again }

// Life tells how often the place of a rank was taken anew, and whether the process that has it
// has not died.
func (j *Job) Life(rank int) (life int, alive bool) {
	life, fate := j.star.Life(rank)
	lost := !j.closing.Load() && C.fu_lost(j.c, C.int(rank)) != 0
	return life, fate != star.Died && !lost
}

// Returns counts how often ranks have joined again.
func (j *Job) Returns() uint64 {
	j.after.mu.Lock()
	defer j.after.mu.Unlock()
	return j.after.returns
}
