package core

import (
	"testing"

	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

func TestSharedBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		all  [][]uint64 // host, bytes
		want uint64
	}{
		{"one rank", [][]uint64{{7, 1000}}, 1000},
		{"one host, read at different moments", [][]uint64{{7, 1000}, {7, 900}, {7, 950}}, 900},
		{"two hosts", [][]uint64{{7, 1000}, {8, 1000}}, 2000},
		{"hosts with more and less memory", [][]uint64{{7, 1000}, {8, 300}}, 600},
		{"hosts with more and fewer ranks",
			[][]uint64{{7, 900}, {7, 900}, {7, 900}, {8, 900}}, 1200},
		{"a host without memory", [][]uint64{{7, 1000}, {8, 0}}, 0},
	} {
		if got := sharedBytes(c.all); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// atOnce is a job whose engine takes all memory at once, and room one with a small file system.
type (
	atOnce struct{ rma.Job }
	room   struct{ rma.Job }
)

func (r room) Reserves() bool { return true }
func (r room) Room() uint64   { return 1 << 20 }

// The ranks agree, the limit is within memory, and an engine that cannot reserve has less.
func TestDefaultBytes(t *testing.T) {
	left, err := memory.Now()
	if err != nil {
		t.Skip(err)
	}
	limit := func(job rma.Job) uint64 {
		n, err := DefaultBytes(t.Context(), job)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var got [3]uint64
	err = local.Run(len(got), func(job rma.Job) error {
		got[job.Rank()] = limit(job)
		return nil
	})
	if err != nil || got[0] != got[1] || got[1] != got[2] {
		t.Fatalf("%d bytes, %v", got, err)
	}
	if got[0] < left.Bytes/100 || got[0] > left.Bytes { // other programs take memory as well
		t.Errorf("%d of %d bytes", got[0], left.Bytes)
	}
	job := local.Single()
	defer job.Close()
	few, many := limit(atOnce{job}), limit(job)
	if few == 0 || memory.CanReserve() && few > many/8 {
		t.Errorf("%d bytes at once, %d in parts", few, many)
	}
	if n := limit(room{job}); n > 1<<20*8/10 || n < 1<<20*7/10 {
		t.Errorf("%d bytes in a file system with 1 MiB left", n)
	}
}
