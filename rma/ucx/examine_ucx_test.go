//go:build ucx && cgo

package ucx

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/internal/ucxdevices"
	"github.com/farhash/farhash/rma"
)

// UCX sees the loopback device of every host, which reaches no other one, and memory.
func TestExamine(t *testing.T) {
	c, err := Examine()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]ucxdevices.Device)
	for _, d := range c.Devices {
		if d.Transport == "" || d.Name == "" || d.Kind == "" || d.Atomics == "" {
			t.Errorf("%+v says too little", d)
		}
		if d.OtherHosts() {
			t.Logf("other hosts by %s/%s", d.Transport, d.Name)
		}
		seen[d.Transport+"/"+d.Name] = d
	}
	lo, posix := seen["tcp/lo"], seen["posix/memory"]
	if lo.Kind != ucxdevices.Network || lo.OtherHosts() || lo.Atomics != ucxdevices.ByTarget ||
		posix.Kind != ucxdevices.Memory || !posix.Used || posix.OtherHosts() ||
		posix.Atomics != ucxdevices.ByProcessor || !c.Events {
		t.Errorf("%+v", c)
	}
	if os.Getenv("UCX_NET_DEVICES") == "" && !lo.Used {
		t.Error("UCX is said not to use tcp/lo")
	}
}

// A device that UCX is set not to use is not taken for one that reaches other hosts.
func TestExamineChoice(t *testing.T) {
	hosts := twohosts.New(t)
	for choice, want := range map[string]bool{"all": true, "lo": false, "fh0": true} {
		there := hosts.Command(0, os.Args[0], "-test.run=^TestExamine$", "-test.v")
		there.Env = append(os.Environ(), "UCX_NET_DEVICES="+choice)
		out, err := there.CombinedOutput()
		if err != nil || strings.Contains(string(out), "other hosts by tcp/fh0") != want {
			t.Errorf("UCX_NET_DEVICES=%s: %v: %s", choice, err, out)
		}
	}
}

// Two ranks of this process are on two hosts, and agree with the processor.
func TestLoopback(t *testing.T) {
	var ranks atomic.Int32
	err := Loopback(t.Context(), transports, func(job rma.Job) error {
		w, err := job.NewWindow(t.Context(), rma.Spec{Name: "loopback", Words: 1})
		if err != nil {
			return err
		}
		if w.Words(1-job.Rank()) != nil || !w.CPUAtomicsCoherent() || job.Size() != 2 {
			t.Errorf("%d ranks, coherent: %v", job.Size(), w.CPUAtomicsCoherent())
		}
		ranks.Add(1)
		return job.Barrier(t.Context())
	})
	if err != nil || ranks.Load() != 2 {
		t.Errorf("%d ranks: %v", ranks.Load(), err)
	}
	wrong := errors.New("wrong")
	err = Loopback(t.Context(), transports, func(rma.Job) error { return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	err = Loopback(t.Context(), "none", func(rma.Job) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "starting UCX") {
		t.Errorf("of no transport: %v", err)
	}
}
