package diagram

import (
	"bytes"
	"context"
	"hash/fnv"
	"os"
	"runtime"

	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/rma"
)

// Share is the part that a rank has in a search of several.
type Share struct {
	Number int // of this rank among those that search; negative: it waits for them
	Here   int // how many search on its host
	All    int // how many search
}

// Divide has as many ranks search as there are processors for: more would slow each other down.
// Collective.
func Divide(ctx context.Context, job rma.Job) (Share, error) {
	return divideBy(ctx, job, ownProcessors())
}

// divideBy is Divide of a rank with some processors.
func divideBy(ctx context.Context, job rma.Job, own processors) (Share, error) {
	all, err := core.Gather(ctx, job, "diagram: processors", own[:], nil)
	if err != nil {
		return Share{}, err
	}
	of := make([]processors, len(all))
	for rank, words := range all {
		of[rank] = processors(words)
	}
	return shareOf(job.Rank(), of), nil
}

// processors are what a rank may run on.
type processors [3]uint64

const (
	onHost  = iota // equal on ranks of one host
	onNames        // equal on ranks of a host that may run on the same processors
	onCount
)

// ownProcessors is what this process may run on. A job of several processes needs Linux.
func ownProcessors() processors {
	names := fnv.New64a()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		if bytes.HasPrefix(line, []byte("Cpus_allowed:")) {
			names.Write(line)
		}
	}
	return processors{core.HostHash(), names.Sum64(), uint64(runtime.GOMAXPROCS(0))}
}

// shareOf is the share of a rank, by the processors of each.
func shareOf(rank int, of []processors) Share {
	s, sharing := Share{Number: -1}, map[processors]uint64{}
	for i, p := range of {
		if sharing[p]++; sharing[p] > p[onCount] {
			continue
		}
		if i == rank {
			s.Number = s.All
		}
		if s.All++; p[onHost] == of[rank][onHost] {
			s.Here++
		}
	}
	return s
}
