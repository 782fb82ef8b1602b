// Package neighbours finds the ranks of a job that are on one host, and has them share memory. It
// is for engines that access other hosts by messages, and their own host by loads and stores.
//
//	near, err := neighbours.Find(ctx, job, rank, neighbours.Self{Engine: "mpi", Version: 1})
//	err = near.Share(ctx, timeout) // the engine has the ranks agree on how that went
//	window, err := near.Memory.NewWindow(ctx, spec)
//	err = near.InWorld(err)        // with the numbers that ranks have in the job
//
// Ranks are neighbours that have the same kernel, the same /dev/shm and the same name of their
// host: containers on one machine are not, unless they share all three.
package neighbours

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"time"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/remote"
	"github.com/farhash/farhash/rma/shm"
)

// The values that ranks exchange.
const (
	valueVersion = iota
	valueHidden
	valueHost
	valueNonce
)

// Self describes a rank to the others.
type Self struct {
	Engine  string // its name, for messages and for the name of shared memory: "mpi"
	Version uint64 // of the messages between ranks of that engine
	Hidden  bool   // windows are not shared
	Host    string // the name of this host; "" is the real one
}

// Group is the ranks of this host.
type Group struct {
	Ranks  []int   // in rising order, this one among them
	Places []int   // by rank of the job: its place in Ranks, or -1
	Memory rma.Job // of the ranks of this host, by their places; nil where none is shared

	mine   int // this rank
	engine string
	nonce  uint64
}

// Alone is the group of a rank that shares memory with no other, in a job of size ranks.
func Alone(rank, size int) *Group {
	g := &Group{Ranks: []int{rank}, Places: make([]int, size), mine: rank}
	for i := range g.Places {
		g.Places[i] = -1
	}
	g.Places[rank] = 0
	return g
}

// Find finds out which ranks are on this one's host. Ranks of different programs are an error.
// Collective.
func Find(ctx context.Context, job direct.Exchanger, rank int, self Self) (*Group, error) {
	mine := direct.Values{valueVersion: self.Version, valueHost: hostKey(self.Host)}
	if self.Hidden {
		mine[valueHidden] = 1
	}
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails
	mine[valueNonce] = binary.LittleEndian.Uint64(nonce[:])
	all, err := job.Exchange(ctx, mine)
	if err != nil {
		return nil, err
	}
	g := &Group{Places: make([]int, len(all)), mine: rank, engine: self.Engine}
	for other, v := range all {
		if v[valueVersion] != all[0][valueVersion] || v[valueHidden] != all[0][valueHidden] {
			return nil, fmt.Errorf("rma/%s: rank %d has version %d of the engine and hides "+
				"windows: %d; rank 0 has %d and %d; run the same program in the same way on every "+
				"rank", self.Engine, other, v[valueVersion], v[valueHidden], all[0][valueVersion],
				all[0][valueHidden])
		}
		g.Places[other] = -1
		if v[valueHost] == all[rank][valueHost] {
			g.Places[other] = len(g.Ranks)
			g.Ranks = append(g.Ranks, other)
		}
	}
	g.nonce = all[g.Ranks[0]][valueNonce]
	return g, nil
}

// hostKey is equal on ranks that share memory: same kernel, same /dev/shm, same name.
func hostKey(name string) uint64 {
	if name == "" {
		name, _ = os.Hostname()
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %s %d", name, boot, device(shm.DefaultDir))
	return hash.Sum64()
}

// Share makes Memory, within the timeout. Collective within the host; where it fails on one rank,
// the others may have succeeded.
func (g *Group) Share(ctx context.Context, timeout time.Duration) error {
	memory, err := shm.Join(ctx, shm.Config{Rank: g.Places[g.mine], Size: len(g.Ranks),
		Job: fmt.Sprintf("%s-%016x", g.engine, g.nonce), Timeout: timeout})
	if err == nil {
		g.Memory = memory
	}
	return err
}

// Close closes Memory.
func (g *Group) Close() error {
	if g.Memory == nil {
		return nil
	}
	return g.Memory.Close()
}

// OneHost reports whether all ranks of the job share memory.
func (g *Group) OneHost() bool { return g.Memory != nil && len(g.Ranks) == len(g.Places) }

// OneHostJob is Memory as the job of an engine whose ranks all share memory. Its windows are made
// by rma/shm, and can take their memory in parts.
type OneHostJob struct{ rma.Job }

// Reserves is [rma.Reserves] of Memory.
func (j OneHostJob) Reserves() bool { return rma.Reserves(j.Job) }

// Room is [rma.Room] of Memory.
func (j OneHostJob) Room() uint64 { return rma.Room(j.Job) }

// Room is [rma.Room] of Memory; without it windows are plain memory.
func (g *Group) Room() uint64 {
	if g.Memory == nil {
		return math.MaxUint64
	}
	return rma.Room(g.Memory)
}

// Takes are by rank of the job what takes the memory of a reserved window of Memory; nil for ranks
// of other hosts.
func (g *Group) Takes(w rma.Window) []remote.Take {
	takes := make([]remote.Take, len(g.Places))
	for place, rank := range g.Ranks {
		takes[rank] = func(off, words int) error {
			return w.(rma.Committer).Commit(place, off, words)
		}
	}
	return takes
}

// InWorld replaces the numbers of ranks in an error of Memory by those in the job.
func (g *Group) InWorld(err error) error {
	var gone *rma.RankError
	var peer *rma.PeerError
	switch {
	case errors.As(err, &gone):
		return &rma.RankError{Rank: g.Ranks[gone.Rank], Left: gone.Left}
	case errors.As(err, &peer):
		return &rma.PeerError{What: peer.What, Rank: g.Ranks[peer.Rank]}
	}
	return err
}
