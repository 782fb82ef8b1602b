//go:build ucx && cgo

package ucx

// #include "shim.h"
// #include "probe.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farhash/farhash/rma"
)

const (
	devicesMax = 1 << 10 // more than a host has
	choiceMax  = 1 << 18 // more than UCX has to say of them
)

// LookAround asks UCX what it finds on this host. UCX may log to the standard output then:
// UCX_LOG_FILE=stderr prevents that if it is set when the program starts.
func LookAround() (Look, error) {
	var found [devicesMax]C.fu_device
	n := C.fu_devices(&found[0], devicesMax)
	if n < 0 {
		return Look{}, fault("listing devices", n)
	}
	text, events := make([]C.char, choiceMax), C.int(0)
	if code := C.fu_events(&text[0], choiceMax, &events); code != 0 {
		return Look{}, fault("starting "+Library(), code)
	}
	chosen := strings.Fields(C.GoString(&text[0]))
	look := Look{Events: events != 0, Devices: devices(found[:n])}
	for i := range look.Devices {
		d := &look.Devices[i]
		d.Used = slices.Contains(chosen, d.Transport+"/"+d.Name)
	}
	return look, nil
}

func devices(found []C.fu_device) []Device {
	var all []Device
	for i := range found {
		f := &found[i]
		all = append(all, Device{Transport: C.GoString(&f.transport[0]),
			Name:           C.GoString(&f.name[0]),
			Kind:           [...]DeviceKind{Network, Memory, Self, Accelerator}[f.kind],
			Atomics:        [...]Atomics{ByTarget, ByProcessor, ByCard}[f.atomics],
			BytesPerSecond: float64(f.bytesPerSecond), LatencyNs: float64(f.latencyNs)})
	}
	return all
}

// netDevices is what UCX is to use of networks: of those that it sends over by TCP the one alone
// that this rank meets rank 0 by, as it listens on each, and all others. "" leaves it to UCX.
func (j *Job) netDevices() string {
	if os.Getenv(DevicesVariable) != "" || j.p.transports != "" {
		return ""
	}
	var found [devicesMax]C.fu_device
	n := C.fu_names(&found[0], devicesMax)
	return Reaching(devices(found[:max(n, 0)]), j.star.LocalAddr())
}

// fault is an error of UCX with its text.
func fault(what string, code C.int) error {
	return fmt.Errorf("rma/ucx: %s: %s", what, C.GoString(C.fu_text(code)))
}

// loopbackTimeout bounds the wait of two ranks of one process for each other.
const loopbackTimeout = 10 * time.Second

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
				pretence{host: fmt.Sprint("loopback ", rank), transports: transports})
			if err != nil {
				errs[rank] = err
				return
			}
			if err := fn(job); err != nil {
				errs[rank] = errors.Join(err, job.(*Job).Abandon())
				return
			}
			errs[rank] = job.Close()
		})
	}
	ranks.Wait()
	return errors.Join(errs[:]...)
}
