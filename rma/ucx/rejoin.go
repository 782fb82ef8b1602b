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

	"github.com/farhash/farhash/internal/backoff"
	"github.com/farhash/farhash/internal/rejoin"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/star"
)

var _ rejoin.Job = (*Job)(nil)

// snapshot is what a rank that rejoins gets to know of the job, as it was before any rank was lost.
type snapshot struct {
	Version          uint64
	Hidden, Coherent bool
	Addresses        [][]byte // of the workers of UCX, by rank
	Windows          []offer
}

// offer is a window that a rank which rejoins may take over.
type offer struct {
	Number uint32
	Key    string // of its Spec
	Words  int
	Keys   [][]byte // by rank: the address and key of its segment
}

// successors is what a rank knows of the ranks that have rejoined.
type successors struct {
	mu           sync.Mutex
	incarnations []int // by rank: the one whose memory is accessed
	// keys are by number of a window and by rank: address and key of the new segment. Windows may
	// be taken over here later than there.
	keys    map[uint32][][]byte
	returns uint64  // how often a rank has rejoined
	offers  []offer // to this rank, if it has rejoined: windows that it has not taken over
	again   bool
}

// describe returns the snapshot for a rank that rejoins. Only rank 0 calls it.
func (j *Job) describe() []byte {
	s := snapshot{Version: protocolVersion, Hidden: j.near.Memory == nil, Coherent: j.coherent,
		Addresses: j.addresses}
	j.after.mu.Lock()
	for _, w := range j.windows {
		if !w.closed.Load() {
			s.Windows = append(s.Windows, offer{w.number, w.key, w.words, w.keys})
		}
	}
	j.after.mu.Unlock()
	text, _ := json.Marshal(s) // nothing in it can fail
	return text
}

// rejoin takes the place of a rank that has died.
func (j *Job) rejoin(ctx context.Context, cfg Config) error {
	var s snapshot
	if err := json.Unmarshal(j.star.Snapshot(), &s); err != nil {
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
		number, _ := j.star.Incarnation(rank)
		if j.after.incarnations[rank] = number; rank == j.rank {
			a = address
			C.fu_set_incarnation(j.c, C.int(number))
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

// takeOver makes this rank's part of a window that the job has.
func (j *Job) takeOver(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	o, err := j.after.choose(spec)
	if err != nil {
		return nil, err
	}
	w := &Window{job: j, key: o.Key, number: o.Number, words: o.Words,
		views: make([][]uint64, j.size)}
	var key []byte
	if err = w.reserve(ctx, spec, true); err == nil {
		key, err = w.register()
	}
	if err != nil {
		_ = w.free()
		return nil, fmt.Errorf("taking over window %q: %w", spec.Name, err)
	}
	if !j.hidden {
		w.views[j.rank] = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(w.mem))), w.words)
	}
	j.after.mu.Lock()
	for rank, theirs := range o.Keys {
		if j.after.incarnations[rank] > 0 {
			theirs = j.after.key(o.Number, rank, j.size)
		}
		if rank == j.rank {
			theirs = key
		}
		w.accept(rank, theirs)
	}
	j.windows = append(j.windows, w)
	j.after.mu.Unlock()
	err = j.star.Note(ctx, append(binary.LittleEndian.AppendUint32(nil, o.Number), key...))
	if err != nil {
		return nil, fmt.Errorf("taking over window %q: %w", spec.Name, err)
	}
	return w, nil
}

// choose finds the next window of a key.
func (a *successors) choose(spec rma.Spec) (o offer, err error) {
	key := keyOf(spec)
	var keys []string
	for i, o := range a.offers {
		if o.Key != key {
			keys = append(keys, fmt.Sprintf("%q", o.Key))
			continue
		}
		if o.Words != spec.Words {
			return o, fmt.Errorf("rma/ucx: this rank has joined again, and its window %q would "+
				"have %d words per rank, while that of the job has %d; run the same program with "+
				"the same configuration", key, spec.Words, o.Words)
		}
		a.offers = a.offers[i+1:]
		return o, nil
	}
	return o, fmt.Errorf("rma/ucx: this rank has joined again and can only take over windows that "+
		"the job has, in their order; there is no further one %q, but %v; run the same program "+
		"with the same configuration", key, keys)
}

// key is the address and key that a rank which has rejoined announced for a window, or nil.
func (a *successors) key(number uint32, rank, size int) []byte {
	if all := a.keys[number]; all != nil {
		return all[rank]
	}
	return nil
}

// handleEvent acts upon an event of another rank.
func (j *Job) handleEvent(e star.Event) {
	switch e.Kind {
	case star.Gone:
		// When all have left, they end at different times.
		if states, _ := j.star.States(); !j.closing.Load() || states[e.Rank] != star.Left {
			C.fu_lose(j.c, C.int(e.Rank))
		}
	case star.Returned:
		j.replace(e)
	case star.Noted:
		j.noted(e)
	}
	j.star.Act(e)
}

// replace has a process take the place of a rank. Its windows follow.
func (j *Job) replace(e star.Event) {
	j.after.mu.Lock()
	defer j.after.mu.Unlock()
	var pace backoff.Backoff
	for C.fu_replace(j.c, C.int(e.Rank), C.int(e.Incarnation),
		unsafe.Pointer(unsafe.SliceData(e.Data)), C.int(len(e.Data))) == C.FH_PENDING {
		pace.Pause()
	}
	for _, keys := range j.after.keys {
		keys[e.Rank] = nil
	}
	j.after.incarnations[e.Rank] = e.Incarnation
	j.after.returns++
}

// noted takes the address and key of the new segment of a rank.
func (j *Job) noted(e star.Event) {
	if len(e.Data) <= 12 {
		return
	}
	number, key := binary.LittleEndian.Uint32(e.Data), e.Data[4:]
	j.after.mu.Lock()
	defer j.after.mu.Unlock()
	if j.after.keys == nil {
		j.after.keys = map[uint32][][]byte{}
	}
	if j.after.keys[number] == nil {
		j.after.keys[number] = make([][]byte, j.size)
	}
	j.after.keys[number][e.Rank] = key
	for _, w := range j.windows {
		if w.number == number {
			w.accept(e.Rank, key)
		}
	}
}

// Rejoined reports whether this process has taken the place of a rank that had died.
func (j *Job) Rejoined() bool { return j.after.again }

// Incarnation is the number of processes that have taken the place of a rank after the first one,
// and whether the present one is alive.
func (j *Job) Incarnation(rank int) (number int, alive bool) {
	number, state := j.star.Incarnation(rank)
	lost := !j.closing.Load() && C.fu_lost(j.c, C.int(rank)) != 0
	return number, state != star.Died && !lost
}

// Returns counts how often ranks have rejoined.
func (j *Job) Returns() uint64 {
	j.after.mu.Lock()
	defer j.after.mu.Unlock()
	return j.after.returns
}
