//go:build mpi && cgo

package mpi

// #include "shim.h"
import "C"

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/shm"
)

// What the ranks tell each other when they meet.
const (
	meetVersion = iota
	meetHidden
	meetHost
	meetNonce
)

// protocolVersion changes with what ranks do together in this package.
const protocolVersion = 1

// hostKey is equal on ranks that share memory: same kernel, same /dev/shm, same name, which
// is that of the host if it is empty.
func hostKey(name string) uint64 {
	hash := fnv.New64a()
	if name == "" {
		name, _ = os.Hostname()
	}
	fmt.Fprintln(hash, name)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	hash.Write(boot)
	var st unix.Stat_t
	if err := unix.Stat(shm.DefaultDir, &st); err == nil {
		fmt.Fprintln(hash, uint64(st.Dev))
	}
	return hash.Sum64()
}

// meetHosts finds out which ranks share memory with this one, and has them share it.
// Collective.
func (j *Job) meetHosts(ctx context.Context, cfg Config, name string) error {
	mine := direct.Values{meetVersion: protocolVersion, meetHost: hostKey(name)}
	if cfg.Hidden {
		mine[meetHidden] = 1
	}
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails
	mine[meetNonce] = binary.LittleEndian.Uint64(nonce[:])
	all, err := j.Exchange(ctx, mine)
	if err != nil {
		return err
	}
	j.local = make([]int, j.size)
	for rank, v := range all {
		if v[meetVersion] != all[0][meetVersion] || v[meetHidden] != all[0][meetHidden] {
			return fmt.Errorf("rma/mpi: rank %d has version %d of the engine and hides windows: "+
				"%d; rank 0 has %d and %d; run the same program in the same way on every rank",
				rank, v[meetVersion], v[meetHidden], all[0][meetVersion], all[0][meetHidden])
		}
		j.local[rank] = -1
		if v[meetHost] == all[j.rank][meetHost] {
			j.local[rank] = len(j.neighbours)
			j.neighbours = append(j.neighbours, rank)
		}
	}
	if len(j.neighbours) >= runtime.NumCPU() { // each has two threads that wait
		C.fh_crowded(1)
	}
	if cfg.Hidden || runtime.GOOS != "linux" {
		return nil
	}
	return j.shareHost(ctx, cfg, all[j.neighbours[0]][meetNonce])
}

// shareHost makes a job in shared memory of the ranks of this host. Either all ranks of
// the job succeed or none does. Collective.
func (j *Job) shareHost(ctx context.Context, cfg Config, nonce uint64) error {
	host, err := shm.Join(ctx, shm.Config{Rank: j.local[j.rank], Size: len(j.neighbours),
		Job: fmt.Sprintf("mpi-%016x", nonce), Timeout: cfg.Timeout})
	if err := j.agree(ctx, "sharing memory within hosts", err); err != nil {
		if host != nil {
			_ = host.Close()
		}
		return err
	}
	j.host = host
	return nil
}

// oneHost tells whether all ranks share memory.
func (j *Job) oneHost() bool { return j.host != nil && len(j.neighbours) == j.size }

// onOneHost is a job whose ranks all share memory: MPI starts and ends it, and the
// windows are those of rma/shm.
type onOneHost struct {
	rma.Job
	mpi *Job
}

// Close leaves the job.
func (o *onOneHost) Close() error {
	err := o.Job.Close()
	if err2 := o.mpi.Close(); err == nil {
		err = err2
	}
	return err
}

// Abandon leaves a job that has failed.
func (o *onOneHost) Abandon() error {
	_ = o.Job.Close()
	return o.mpi.Abandon()
}
