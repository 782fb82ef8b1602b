//go:build mpi

package main

// #include "comm.h"
// #include "library.h"
import "C"

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"slices"
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
}

func mpiError(what string, code C.int) error {
	if code == 0 {
		return nil
	}
	var text [512]C.char
	C.fh_comm_error(code, &text[0], C.int(len(text)))
	return fmt.Errorf("farhash: %s: %s", what, C.GoString(&text[0]))
}

// calling makes a call of MPI while no thread of the library makes one.
func calling(what string, call func() C.int) (err error) {
	mpi.Exclusive(func() { err = mpiError(what, call()) })
	return err
}

// threadMultiple is the level at which all threads call MPI at any time.
const threadMultiple = 3

// together makes a collective call. A rank that waits in it must answer the requests of ranks that
// come to it later, which the lock of calling prevents. Below threadMultiple nothing is requested.
func (c *communicator) together(what string, call func() C.int) error {
	if c.level == threadMultiple {
		return mpiError(what, call())
	}
	return calling(what, call)
}

func ask(handle int32) (*communicator, error) {
	var f C.fh_comm_facts
	err := calling("examining the communicator",
		func() C.int { return C.fh_comm_ask(C.int(handle), &f) })
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
	if err := mpi.Alone(int(f.world)); err != nil {
		return nil, err
	}
	return &communicator{handle: C.int(handle), rank: int(f.rank), size: int(f.size),
		level: int(f.level)}, nil
}

// The words that ranks exchange before they join.
const (
	hostWord       = iota
	nonceWord      // of which rank 0's names the job
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
	err = c.together("exchanging the options of the ranks", func() C.int {
		return C.fh_comm_gather(c.handle, (*C.uint64_t)(&mine[0]), (*C.uint64_t)(&all[0]),
			exchangedWords)
	})
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
	return c.spread(all[nonceWord], o)
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
	err := c.together("joining",
		func() C.int { return C.fh_comm_least(c.handle, C.uint64_t(vote), &least) })
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
	mu      sync.Mutex
	users   int             // jobs that are open, or are being joined
	jobs    map[*job]uint64 // those that are open, by numbers that are the same on all ranks
	passive bool
	stop    func() error
}

// holdMPI has MPI in use until letGo is called as often. There may be other jobs on several hosts.
func holdMPI(cfg mpi.Config) error {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.users == 0 {
		if err := mpiError("MPI_COMM_SELF", C.fh_at_finalize()); err != nil {
			return err
		}
		stop, err := mpi.Start(context.Background(), cfg)
		if err != nil {
			return err
		}
		held.stop, held.jobs, held.passive = stop, map[*job]uint64{}, cfg.Passive
	}
	if held.passive != cfg.Passive {
		return errArgument("passive is %v, and it is %v for another job of this process that is "+
			"open; give all jobs the same", cfg.Passive, held.passive)
	}
	held.users++
	return nil
}

// letGo gives MPI back if no other job uses it.
func letGo() error {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.users--; held.users > 0 {
		return nil
	}
	return held.stop()
}

// spread makes a job that MPI carries.
func (c *communicator) spread(number uint64, o options) (made *job, err error) {
	cfg := mpi.Config{Timeout: o.timeout, Hidden: o.hidden, Passive: o.passive}
	mine := holdMPI(cfg)
	if err := c.agree(mine); err != nil {
		if mine == nil {
			err = errors.Join(err, letGo())
		}
		return nil, err
	}
	j, err := mpi.JoinComm(context.Background(), int32(c.handle), cfg)
	if err == nil {
		made, err = newJob(j, nil)
	}
	if err = c.agree(err); err != nil {
		if j != nil {
			err = errors.Join(err, j.Close())
		}
		return nil, errors.Join(err, letGo())
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	held.jobs[made] = number
	made.leave = func() error {
		err := j.Close()
		held.mu.Lock()
		delete(held.jobs, made)
		held.mu.Unlock()
		return errors.Join(err, letGo())
	}
	return made, nil
}

// goFinalizing closes what is still open when MPI ends, in an order that all ranks have: to close
// a job is collective.
//
//export goFinalizing
func goFinalizing() {
	var code C.int
	defer guard(&code)
	held.mu.Lock()
	open := slices.Collect(maps.Keys(held.jobs))
	slices.SortFunc(open, func(a, b *job) int { return cmp.Compare(held.jobs[a], held.jobs[b]) })
	held.mu.Unlock()
	for _, j := range open {
		if err := j.end(); err != nil {
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
