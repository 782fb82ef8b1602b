package core

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
)

const (
	// defaultShare is the part of the memory left that a table may grow to where nobody has set
	// a limit.
	defaultShare = 0.8
	// atOnceShare is the part of it that a table may have where all memory is taken at once.
	atOnceShare = 1.0 / 16
)

// The words of a rank that DefaultBytes needs.
const (
	wordHost  = iota // a hash of what names the machine
	wordBytes        // what its windows may take
)

// DefaultBytes is the limit of a table, all ranks together, for which nobody has set one: .8 of the
// memory that is left on the hosts of the ranks, control groups and the file system of shared
// memory respected; a sixteenth of it where windows cannot be reserved. The segments of all ranks
// are equal, so the host with the least memory for each of its ranks decides. Every rank gets the
// same answer. Collective.
func DefaultBytes(ctx context.Context, job rma.Job) (uint64, error) {
	mine, refusal := leftHere(job)
	all, err := Gather(ctx, job, "finding memory for a table", []uint64{HostHash(), mine}, refusal)
	if err != nil {
		return 0, err
	}
	return sharedBytes(all), nil
}

// leftHere is what windows may take on the host of this rank.
func leftHere(job rma.Job) (uint64, error) {
	left, err := memory.Now()
	if err != nil {
		return 0, fmt.Errorf("how much memory there is cannot be found (%w); "+
			"give the table a limit", err)
	}
	share := defaultShare
	if !rma.Reserves(job) {
		share *= atOnceShare
	}
	return uint64(share * float64(min(left.Bytes, rma.Room(job)))), nil
}

// HostHash is equal on ranks of one machine, in different containers as well.
func HostHash() uint64 {
	hash := fnv.New64a()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		name, _ := os.Hostname()
		boot = []byte(name)
	}
	hash.Write(boot)
	return hash.Sum64()
}

// sharedBytes is what all ranks together may take, if each takes as much as the others. Ranks of
// one host share what the one that has found the least has found.
func sharedBytes(all [][]uint64) uint64 {
	ranks, left := map[uint64]uint64{}, map[uint64]uint64{}
	for _, words := range all {
		host := words[wordHost]
		if ranks[host] == 0 || words[wordBytes] < left[host] {
			left[host] = words[wordBytes]
		}
		ranks[host]++
	}
	each := uint64(math.MaxUint64)
	for host, n := range ranks {
		each = min(each, left[host]/n)
	}
	return each * uint64(len(all))
}
