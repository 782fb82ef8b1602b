//go:build ucx && cgo

package ucx

// #include "shim.h"
// #include "examine.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farhash/farhash/internal/ucxdevices"
	"github.com/farhash/farhash/rma"
)

const (
	maxDevices     = 1 << 10 // more than a host has
	maxChoiceBytes = 1 << 18 // more than UCX prints of them
)

// Examine lists what UCX finds on this host. UCX may log to the standard output then:
// UCX_LOG_FILE=stderr prevents that if it is set when the program starts.
func Examine() (ucxdevices.Survey, error) {
	var found [maxDevices]C.fu_device
	n := C.fu_devices(&found[0], maxDevices)
	if n < 0 {
		return ucxdevices.Survey{}, fault("listing devices", n)
	}
	text, events := make([]C.char, maxChoiceBytes), C.int(0)
	if code := C.fu_events(&text[0], maxChoiceBytes, &events); code != 0 {
		return ucxdevices.Survey{}, fault("starting "+Library(), code)
	}
	chosen := strings.Fields(C.GoString(&text[0]))
	c := ucxdevices.Survey{Events: events != 0, Devices: devices(found[:n])}
	for i := range c.Devices {
		d := &c.Devices[i]
		d.Used = slices.Contains(chosen, d.Transport+"/"+d.Name)
	}
	return c, nil
}

// What C counts.
var (
	kinds = [...]ucxdevices.Kind{ucxdevices.Network, ucxdevices.Memory, ucxdevices.Self,
		ucxdevices.Accelerator}
	atomics = [...]ucxdevices.Atomics{ucxdevices.ByTarget, ucxdevices.ByProcessor,
		ucxdevices.ByCard, ucxdevices.InPart}
)

func devices(found []C.fu_device) []ucxdevices.Device {
	var all []ucxdevices.Device
	for i := range found {
		f := &found[i]
		all = append(all, ucxdevices.Device{Transport: C.GoString(&f.transport[0]),
			Name: C.GoString(&f.name[0]),
			Kind: kinds[f.kind], Atomics: atomics[f.atomics],
			BytesPerSecond: float64(f.bytesPerSecond), LatencyNs: float64(f.latencyNs)})
	}
	return all
}

// netDevices lists the networks that UCX is to use: all but those by TCP, since UCX listens on each
// of these, and of those by TCP the one alone by which this rank is connected to rank 0. "" leaves
// the choice to UCX.
func (j *member) netDevices() string {
	if os.Getenv(ucxdevices.Variable) != "" || j.p.transports != "" {
		return ""
	}
	return ucxdevices.Reaching(names(), j.tree.LocalAddr())
}

// overTCP reports whether UCX may use TCP.
func (j *member) overTCP() bool {
	return ucxdevices.OverTCP(cmp.Or(j.p.transports, os.Getenv("UCX_TLS")),
		os.Getenv(ucxdevices.Variable), names())
}

// names lists the devices of this host with no more than their transports.
func names() []ucxdevices.Device {
	var found [maxDevices]C.fu_device
	n := C.fu_names(&found[0], maxDevices)
	return devices(found[:max(n, 0)])
}

// fault is an error of UCX with its text.
func fault(what string, code C.int) error {
	return fmt.Errorf("rma/ucx: %s: %s", what, C.GoString(C.fu_text(code)))
}

// loopbackTimeout bounds the wait of two ranks of one process for each other, and for each
// operation. It is longer than UCX tries to connect.
const loopbackTimeout = 40 * time.Second

// Loopback runs fn on two ranks of this process, which reach each other over the transports as if
// they were on two hosts: "tcp,self". Join has done the litmus test between them.
func Loopback(ctx context.Context, transports string, fn func(job rma.Job) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("rma/ucx: %w", err)
	}
	address := l.Addr().String()
	_ = l.Close() // rank 0 listens there
	var errs [2]error
	var ranks sync.WaitGroup
	for rank := range errs {
		ranks.Go(func() {
			job, err := joinAs(ctx, Config{Rank: rank, Size: len(errs), Rendezvous: address,
				Token: "loopback " + address, Timeout: loopbackTimeout},
				overrides{host: fmt.Sprint("loopback ", rank), transports: transports})
			if err != nil {
				errs[rank] = err
				return
			}
			if err := fn(job); err != nil {
				errs[rank] = errors.Join(err, job.(*member).Abandon())
				return
			}
			errs[rank] = job.Close()
		})
	}
	ranks.Wait()
	return errors.Join(errs[:]...)
}
