package set

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// Goroutines insert different words with the same home, so that compare-and-swaps
// are lost to other words. The test continues until some have been lost.
func TestKernelsLoseToOtherWords(t *testing.T) {
	const workers, each, maxRounds = 4, 60, 2000
	words := wordsWithHomes(workers*each, []uint64{0})
	for _, kernel := range kernels() {
		t.Run(string(kernel), func(t *testing.T) {
			lost := uint64(0)
			for round := 0; round < maxRounds && lost < 50; round++ {
				s := newKernelSet(t, Config{Buckets: 1024, variant: by(kernel)})
				must(t, insertParts(s, words, each))
				must(t, s.Check(t.Context()))
				stats := s.Stats()
				if lost += stats.LostSwaps; stats.Inserted != uint64(len(words)) {
					t.Errorf("%d insertions counted of %d", stats.Inserted, len(words))
				}
			}
			if lost == 0 {
				t.Skipf("nothing was lost in %d rounds: only one core?", maxRounds)
			}
		})
	}
}

// insertParts has goroutines insert a part of words each, a half of it one by one; every word is
// new.
func insertParts(s *Set, words []uint64, each int) error {
	errs := make([]error, len(words)/each)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range errs {
		part := words[worker*each : (worker+1)*each]
		wg.Go(func() {
			<-start
			results := make([]Result, len(part))
			half := len(part) / 2
			for i, word := range part[:half] {
				results[i], errs[worker] = s.FindOrPut(word)
			}
			errs[worker] = errors.Join(errs[worker], s.FindOrPutBatch(part[half:], results[half:]))
			for i, r := range results {
				if r != Inserted {
					errs[worker] = fmt.Errorf("word %#x of nobody else is %v", part[i], r)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, word := range words {
		if there, err := s.Contains(word); !there {
			return fmt.Errorf("word %#x is not there: %v", word, err)
		}
	}
	return nil
}
