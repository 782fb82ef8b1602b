//go:build mpi

package main

// #include "comm.h"
// #include "library.h"
import "C"

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/mpi"
	"github.com/farhash/farhash/rma/shm"
)

// communicator is the program's, whose processes are to be ranks.
type communicator struct {
	handle     C.int
	rank, size int
	level      int
	world      bool
}

func mpiError(what string, code C.int) error {
	if code == 0 {
		return nil
	}
	var text [512]C.char
	C.fh_comm_error(code, &text[0], C.int(len(text)))
	return fmt.Errorf("farhash: %s: %s", what, C.GoString(&text[0]))
}

func ask(handle int32) (*communicator, error) {
	var f C.fh_comm_facts
	err := mpiError("examining the communicator", C.fh_comm_ask(C.int(handle), &f))
	if err != nil {
		return nil, err
	}
	switch {
	case f.initialized == 0:
		return nil, errors.New("farhash: MPI is not initialised; call MPI_Init first")
	case f.finalized != 0:
		return nil, errors.New("farhash: MPI has been finalised")
	case f.null != 0:
		return nil, errArgument("the communicator is MPI_COMM_NULL; only its own processes join it")
	case f.inter != 0:
		return nil, errArgument("the communicator is an intercommunicator; merge it")
	}
	return &communicator{handle: C.int(handle), rank: int(f.rank), size: int(f.size),
		level: int(f.level), world: f.world != 0}, nil
}

// The words that ranks exchange before they join.
const (
	hostWord       = iota
	nonceWord      // of which that of rank 0 names the job
	optionsWord    // 1: one-sided only; 2: by MPI on any host; 4: passive
	errorWord      // why the rank cannot join; all zeros if it can
	exchangedWords = errorWord + 32
)

// hostOf is equal on processes that share /dev/shm.
func hostOf() uint64 {
	hash := fnv.New64a()
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var st unix.Stat_t
	_ = unix.Stat(shm.DefaultDir, &st)
	fmt.Fprintf(hash, "%s %s %d %d", name, boot, st.Dev, os.Getuid())
	return hash.Sum64()
}

// joinComm makes the processes of a communicator the ranks of a job. What is wrong with the
// arguments of this rank is sent to all. Collective.
func joinComm(handle int32, o options, wrong error) (*job, error) {
	c, err := ask(handle)
	if err != nil {
		return nil, errors.Join(wrong, err)
	}
	// Below SERIALIZED the library may have no thread of its own that calls MPI.
	o.passive = o.passive || c.level < 2
	var mine [exchangedWords]uint64
	mine[hostWord] = hostOf()
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails
	mine[nonceWord] = binary.LittleEndian.Uint64(nonce[:])
	if o.hidden {
		mine[optionsWord] |= 1
	}
	if os.Getenv(farhash.EngineVariable) == "mpi" {
		mine[optionsWord] |= 2
	}
	if o.passive {
		mine[optionsWord] |= 4
	}
	if wrong != nil {
		pack(mine[errorWord:], wrong.Error())
	}
	all := make([]uint64, exchangedWords*c.size)
	err = mpiError("exchanging the options of the ranks", C.fh_comm_gather(c.handle,
		(*C.uint64_t)(&mine[0]), (*C.uint64_t)(&all[0]), exchangedWords))
	if err != nil {
		return nil, err
	}
	if wrong != nil {
		return nil, wrong
	}
	oneHost := mine[optionsWord]&2 == 0
	for rank := range c.size {
		its := all[rank*exchangedWords:][:exchangedWords]
		if why := unpack(its[errorWord:]); why != "" {
			return nil, fmt.Errorf("%w: %s", &rma.PeerError{What: "farhash: joining", Rank: rank},
				why)
		}
		if its[optionsWord] != mine[optionsWord] {
			return nil, errArgument("ranks %d and %d differ in one_sided or passive, in the "+
				"thread level of MPI or in %s", c.rank, rank, farhash.EngineVariable)
		}
		oneHost = oneHost && its[hostWord] == mine[hostWord]
	}
	if oneHost {
		return c.share(fmt.Sprintf("comm-%016x", all[nonceWord]), o)
	}
	return c.spread(o)
}

// pack puts a text into words, as much of it as there is room for.
func pack(words []uint64, text string) {
	room := make([]byte, 8*len(words))
	copy(room, text)
	for i := range words {
		words[i] = binary.NativeEndian.Uint64(room[8*i:])
	}
}

// unpack is the text that pack has put into words.
func unpack(words []uint64) string {
	var text []byte
	for _, word := range words {
		text = binary.NativeEndian.AppendUint64(text, word)
	}
	return string(bytes.TrimRight(text, "\x00"))
}

// share makes a job in shared memory.
func (c *communicator) share(name string, o options) (*job, error) {
	j, err := shm.Join(context.Background(), shm.Config{Rank: c.rank, Size: c.size, Job: name,
		Timeout: o.timeout, Hidden: o.hidden})
	var made *job
	if err == nil {
		made, err = newJob(j, j.Close)
	}
	if err := c.agree(err); err != nil {
		if made != nil {
			_ = made.shut()
		} else if j != nil {
			_ = j.Close()
		}
		return nil, err
	}
	return made, nil
}

// agree fails on every rank if one of them has failed so far.
func (c *communicator) agree(mine error) error {
	vote, least := uint64(math.MaxUint64), C.uint64_t(0)
	if mine != nil {
		vote = uint64(c.rank)
	}
	err := mpiError("joining", C.fh_comm_least(c.handle, C.uint64_t(vote), &least))
	if mine != nil || err != nil {
		return errors.Join(mine, err)
	}
	if uint64(least) != math.MaxUint64 {
		return &rma.PeerError{What: "farhash: joining", Rank: int(least)}
	}
	return nil
}

// held is the use of MPI by jobs on several hosts.
var held struct {
	mu   sync.Mutex
	jobs map[*job]struct{}
	stop func() error
}

// spread makes a job that MPI carries. Its engine knows MPI_COMM_WORLD only.
func (c *communicator) spread(o options) (*job, error) {
	if !c.world {
		return nil, fmt.Errorf("farhash: the communicator's processes are on several hosts, and "+
			"are not those of MPI_COMM_WORLD in their order: %w", errUnsupported)
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	cfg := mpi.Config{Timeout: o.timeout, Hidden: o.hidden, Passive: o.passive}
	ctx := context.Background()
	if held.stop == nil {
		if err := mpiError("MPI_COMM_SELF", C.fh_at_finalize()); err != nil {
			return nil, err
		}
		stop, err := mpi.Start(ctx, cfg)
		if err != nil {
			return nil, err
		}
		held.stop, held.jobs = stop, map[*job]struct{}{}
	}
	j, err := mpi.Join(ctx, cfg)
	if err != nil {
		return nil, err
	}
	made, err := newJob(j, nil)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	made.leave = func() error { return letGo(made, j) }
	held.jobs[made] = struct{}{}
	return made, nil
}

// letGo closes a job; the last one gives MPI back.
func letGo(made *job, j rma.Job) error {
	held.mu.Lock()
	defer held.mu.Unlock()
	err := j.Close()
	delete(held.jobs, made)
	if len(held.jobs) == 0 && held.stop != nil {
		err = errors.Join(err, held.stop())
		held.stop = nil
	}
	return err
}

// goFinalizing closes what is still open when MPI ends.
//
//export goFinalizing
func goFinalizing() {
	var code C.int
	defer guard(&code)
	held.mu.Lock()
	var open []*job
	for j := range held.jobs {
		open = append(open, j)
	}
	held.mu.Unlock()
	for _, j := range open {
		if err := j.shut(); err != nil {
			fail(err, C.FARHASH_ERROR)
		}
	}
}

//export goExclusive
func goExclusive(function, argument unsafe.Pointer) (code C.int) {
	defer guard(&code)
	mpi.Exclusive(func() { C.fh_call_plain(function, argument) })
	return C.FARHASH_OK
}
