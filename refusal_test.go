package farhash_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/farhash/farhash/cache"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// What one rank alone has to refuse, as values that may differ between ranks, fails on all: the
// others do not wait for it.
func TestRefusalOfOneRank(t *testing.T) {
	for what, open := range map[string]func(context.Context, rma.Job, int) (io.Closer, error){
		"set": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return set.New(ctx, job, set.Config{Buckets: 1 << 10, Depth: depth})
		},
		"set of elements": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return set.NewElements(ctx, job, set.ElementsConfig{ElementBytes: 16, Capacity: 100,
				Config: set.Config{Buckets: 1 << 10, Depth: depth}})
		},
		"cache": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return cache.New(ctx, job, cache.Config{KeySize: 8, ValueSize: 8,
				Buckets: 300, Depth: depth})
		},
		"kv": func(ctx context.Context, job rma.Job, depth int) (io.Closer, error) {
			return kv.New(ctx, job, kv.Config{Slots: 300, Bytes: 1 << 18, MaxKey: 8,
				MaxValue: 8, Depth: depth})
		},
	} {
		t.Run(what, func(t *testing.T) {
			err := local.Run(3, func(job rma.Job) error {
				depth := 0
				if job.Rank() == 1 {
					depth = -1
				}
				_, err := open(t.Context(), job, depth)
				var peer *rma.PeerError
				if job.Rank() == 1 && (err == nil || !strings.Contains(err.Error(), "Depth")) ||
					job.Rank() != 1 && (!errors.As(err, &peer) || peer.Rank != 1) {
					t.Errorf("rank %d: %v", job.Rank(), err)
				}
				return job.Barrier(t.Context())
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
