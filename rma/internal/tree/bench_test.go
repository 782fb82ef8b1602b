package tree

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/farhash/farhash/internal/testkit/twohosts"
)

// BenchmarkRanks is a job of so many ranks in this process, over TCP within this host: the time in
// which all join, of a barrier, and of a gathering of 200 bytes of each rank, which differ; and the
// bytes that rank 0 sends for both.
func BenchmarkRanks(b *testing.B) {
	for _, ranks := range []int{16, 128, 1000} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			address := twohosts.FreeAddress(b)
			var wg, joined sync.WaitGroup
			joined.Add(ranks)
			begin := time.Now()
			for rank := range ranks {
				wg.Go(func() {
					t, err := Join(b.Context(), Config{Rank: rank, Size: ranks, Address: address,
						Token: token, Timeout: time.Minute})
					if err != nil {
						b.Error(err)
						joined.Done()
						return
					}
					joined.Done()
					joined.Wait()
					if rank == 0 {
						b.ReportMetric(time.Since(begin).Seconds()*1e3, "join-ms")
					}
					measure(b, t)
					t.Leave()
					if err := t.AwaitOthers(b.Context()); err != nil {
						b.Error(err)
					}
					t.Close()
				})
			}
			wg.Wait()
		})
	}
}

// measure measures as one rank.
func measure(b *testing.B, t *Tree) {
	const turns = 20
	mine := make([]byte, 200)
	copy(mine, fmt.Sprint(t.cfg.Rank))
	for _, what := range []string{"barrier", "gather"} {
		begin := time.Now()
		for range turns {
			err := t.Barrier(b.Context())
			if what == "gather" && err == nil {
				_, err = t.Gather(b.Context(), mine)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
		if t.cfg.Rank == 0 {
			b.ReportMetric(time.Since(begin).Seconds()*1e6/turns, what+"-us")
			t.mu.Lock()
			b.ReportMetric(float64(len(t.last)*len(t.down)), what+"-bytes")
			t.mu.Unlock()
		}
	}
}
