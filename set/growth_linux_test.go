package set

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/rma/local"
)

// BenchmarkGrowth fills a set that begins with 2^16 buckets, and one of the size that this one
// comes to, in turn: words in batches to load 0.75 of 2^26 buckets. It reports how many times as
// long growth takes. All memory has been touched before anything is timed.
func BenchmarkGrowth(b *testing.B) {
	const buckets, words = 1 << 26, 3 << 24
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var growing, fixed time.Duration
	for b.Loop() {
		growing += timeFilling(b, growingTo(buckets), words)
		fixed += timeFilling(b, Config{Buckets: buckets, MaxBytes: 8 * buckets}, words)
	}
	per := float64(b.N) * words
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(growing)/per, "ns/grown-word")
	b.ReportMetric(float64(fixed)/per, "ns/word")
	b.ReportMetric(float64(growing)/float64(fixed), "grown/fixed")
}

// threadTime is the time for which this thread has run: that of other processes does not count.
func threadTime(b *testing.B) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// growingTo is a set that grows to so many buckets and takes little of its memory then.
func growingTo(buckets uint64) Config {
	return Config{Buckets: 1 << 16, MaxBytes: 8 * littleShare * buckets}
}

// touchedSet makes a set whose memory has been touched, up to 2^26 buckets.
func touchedSet(b *testing.B, cfg Config) *Set {
	b.Helper()
	job := local.Single()
	s, err := New(context.Background(), job, cfg)
	must(b, err)
	b.Cleanup(func() { must(b, s.Close(), job.Close()) })
	for i := range s.tables {
		if s.tables[i].buckets <= 1<<26 {
			clear(s.tables[i].regions.Whole.Words)
		}
	}
	return s
}

// timeFilling makes a set and inserts so many words.
func timeFilling(b *testing.B, cfg Config, n uint64) time.Duration {
	b.Helper()
	s := touchedSet(b, cfg)
	words, results := make([]uint64, benchBatch), make([]Result, benchBatch)
	taken := time.Duration(0)
	for i := uint64(0); i < n; i += benchBatch {
		for j := range words {
			words[j] = benchWord(i + uint64(j))
		}
		start := threadTime(b)
		must(b, s.FindOrPutBatch(words, results))
		taken += threadTime(b) - start
	}
	if float64(n) < .7*float64(s.Config().Buckets) {
		b.Fatalf("the set has %d buckets for %d words", s.Config().Buckets, n)
	}
	must(b, s.Close())
	return taken
}

// BenchmarkGrowingCalls inserts single words and batches of 64 while a set grows to 2^24 buckets.
// It prints how many calls took how long, and reports the longest.
func BenchmarkGrowingCalls(b *testing.B) {
	const buckets, n = 1 << 24, 3 << 22
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("words=%d", size), func(b *testing.B) {
			var calls [40]int // by the power of two of nanoseconds
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			longest := time.Duration(0)
			words, results := make([]uint64, size), make([]Result, size)
			for b.Loop() {
				s := touchedSet(b, growingTo(buckets))
				for i := 0; i < n; i += size {
					for j := range words {
						words[j] = benchWord(uint64(i + j))
					}
					start := threadTime(b)
					if size == 1 {
						_, err := s.FindOrPut(words[0])
						must(b, err)
					} else {
						must(b, s.FindOrPutBatch(words, results))
					}
					taken := threadTime(b) - start
					calls[bits.Len64(uint64(taken))]++
					longest = max(longest, taken)
				}
				must(b, s.Close())
			}
			for i, n := range calls {
				if n > 0 {
					b.Logf("under %10v: %d calls", time.Duration(1)<<i, n)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(longest)/1e3, "us/longest-call")
		})
	}
}
