//go:build ucx && cgo

package ucx

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/star"
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
const protocolVersion = 2

// hostKey is equal on ranks that share memory: same kernel, same /dev/shm, same name.
func hostKey(name string) uint64 {
	if name == "" {
		name, _ = os.Hostname()
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var st unix.Stat_t
	_ = unix.Stat(shm.DefaultDir, &st)
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %s %d", name, boot, st.Dev)
	return hash.Sum64()
}

// meetHosts finds out which ranks share memory with this one, and has them share it.
// Collective.
func (j *Job) meetHosts(ctx context.Context, cfg Config) error {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails
	all, err := j.Exchange(ctx, direct.Values{meetVersion: protocolVersion,
		meetHidden: uint64(flag(cfg.Hidden)), meetHost: hostKey(j.p.host),
		meetNonce: binary.LittleEndian.Uint64(nonce[:])})
	if err != nil {
		return err
	}
	j.local = make([]int, j.size)
	for rank, v := range all {
		if v[meetVersion] != all[0][meetVersion] || v[meetHidden] != all[0][meetHidden] {
			return fmt.Errorf("rma/ucx: rank %d has version %d of the engine and hides windows: "+
				"%d; rank 0 has %d and %d; run the same program in the same way on every rank",
				rank, v[meetVersion], v[meetHidden], all[0][meetVersion], all[0][meetHidden])
		}
		j.local[rank] = -1
		if v[meetHost] == all[j.rank][meetHost] {
			j.local[rank] = len(j.neighbours)
			j.neighbours = append(j.neighbours, rank)
		}
	}
	if cfg.Hidden {
		return nil
	}
	host, err := shm.Join(ctx, shm.Config{Rank: j.local[j.rank], Size: len(j.neighbours),
		Job: fmt.Sprintf("ucx-%016x", all[j.neighbours[0]][meetNonce]), Timeout: cfg.Timeout})
	if err == nil {
		j.host = host
	}
	_, err = j.share(ctx, "sharing memory within hosts", nil, err)
	return err
}

// inWorld says of whom an error of the ranks of this host tells, by their numbers in the
// job.
func (j *Job) inWorld(err error) error {
	var gone *rma.RankError
	var peer *rma.PeerError
	switch {
	case errors.As(err, &gone):
		return &rma.RankError{Rank: j.neighbours[gone.Rank], Left: gone.Left}
	case errors.As(err, &peer):
		return &rma.PeerError{What: peer.What, Rank: j.neighbours[peer.Rank]}
	}
	return err
}

// untilGone is a context that ends as well when a rank is gone, or this one leaves: a neighbour
// that is out of step for that reason does not come, and does not say so within the host.
func (j *Job) untilGone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			fates, change := j.star.Fates()
			for rank, fate := range fates {
				if fate != star.Here {
					cancel(&rma.RankError{Rank: rank, Left: fate == star.Left})
				}
			}
			if j.closing.Load() {
				cancel(errClosed)
			}
			select {
			case <-change:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// oneHost tells whether all ranks share memory.
func (j *Job) oneHost() bool { return j.host != nil && len(j.neighbours) == j.size }

// onOneHost is a job whose ranks all share memory: the windows are those of rma/shm, which
// outlive who made them.
type onOneHost struct {
	rma.Job
	ucx *Job
}

// Close leaves the job. It waits for nobody, but has rank 0 stay until all have begun.
func (o *onOneHost) Close() error {
	err := o.Job.Close()
	if !o.ucx.closing.Swap(true) {
		o.ucx.star.Leave()
		o.ucx.end(true)
	}
	return err
}
