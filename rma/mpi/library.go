//go:build mpi && cgo

package mpi

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/farhash/farhash/internal/system/launch"
)

// Built reports whether this program contains the engine.
const Built = true

// library is the MPI library that the program is linked with.
type library struct {
	text  string // as it says itself, one line
	kind  string // openMPI, mpich or other
	major int
}

const (
	openMPI = "Open MPI"
	mpich   = "MPICH"
	other   = "MPI"
)

// Library is the version of the MPI library that the program is linked with.
func Library() string { return ask().text }

func ask() library {
	var text [256]C.char
	C.fh_library(&text[0], C.int(len(text)))
	return parseLibrary(C.GoString(&text[0]))
}

// parseLibrary reads "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\n...".
func parseLibrary(version string) library {
	line, _, _ := strings.Cut(version, "\n")
	line, _, _ = strings.Cut(line, ",")
	l := library{text: strings.Join(strings.Fields(line), " "), kind: other}
	for _, kind := range []string{openMPI, mpich} {
		if strings.HasPrefix(l.text, kind) {
			l.kind = kind
		}
	}
	if i := strings.IndexAny(l.text, "0123456789"); i >= 0 {
		_, _ = fmt.Sscanf(l.text[i:], "%d", &l.major)
	}
	return l
}

// oscVariable chooses Open MPI's one-sided component.
const oscVariable = "OMPI_MCA_osc"

// oscChoice is for Open MPI 4, whose default, osc/rdma, crashes in the first
// compare-and-swap on one host and makes no windows over TCP. It is shared memory on one
// host, and else messages; or UCX where there is a fast network, since over TCP it sends
// the parts of a joined get one by one.
func oscChoice() string {
	if fastNetwork() {
		return "sm,ucx,pt2pt"
	}
	return "sm,pt2pt"
}

// fastNetwork reports whether this host has a network whose cards do atomics.
func fastNetwork() bool {
	for _, class := range []string{"/sys/class/infiniband", "/sys/class/cxi"} {
		if devices, _ := os.ReadDir(class); len(devices) > 0 {
			return true
		}
	}
	return false
}

// prepare sets what the library reads when it is initialised. What the user has set stays.
func (l library) prepare() {
	if l.kind == mpich && !fastNetwork() {
		setDefault("UCX_RNDV_THRESH", "128k") // over TCP a rendezvous takes several messages more
	}
	if l.kind != openMPI {
		return
	}
	if l.major == 4 {
		setDefault(oscVariable, oscChoice())
	}
	m, _, _ := launch.Detect()
	if m.LocalSize == 0 || 2*m.LocalSize > runtime.NumCPU() { // a rank has two threads that wait
		setDefault("OMPI_MCA_mpi_yield_when_idle", "1")
	}
}

func setDefault(name, value string) {
	if os.Getenv(name) == "" {
		_ = os.Setenv(name, value) // in C as well; a constant is never refused
	}
}

// refusesWindows reports whether the library makes no windows between hosts at a thread level. In
// Open MPI 4 the component for messages refuses MPI_THREAD_MULTIPLE, and the others need a fast
// network; whoever names one of these says that it works.
func (l library) refusesWindows(level int) bool {
	chosen := os.Getenv(oscVariable)
	return l.kind == openMPI && l.major == 4 && level == threadMultiple && !fastNetwork() &&
		!strings.Contains(chosen, "ucx") && !strings.Contains(chosen, "rdma")
}

// useRequests reports whether gets are completed by requests: in Open MPI a flush is
// faster and surer, in MPICH a request.
func (l library) useRequests() bool { return l.kind != openMPI }

// addBySwap reports whether fetch-and-add is made of swaps, since the library's is not
// atomic: so it is in osc/pt2pt of Open MPI 4, and no other component need be there.
func (l library) addBySwap() bool { return l.kind == openMPI && l.major <= 4 }

// remedy is what to try when one-sided operations do not work.
func (l library) remedy() string {
	var facts C.fh_facts
	C.fh_phase(&facts)
	switch {
	case l.refusesWindows(int(facts.level)):
		return "it makes no windows between hosts at MPI_THREAD_MULTIPLE, and a passive engine " +
			"takes no messages: initialise MPI with less, or do not ask for a passive engine"
	case l.kind == openMPI && l.major == 4:
		now := "" // what the user has chosen; after prepare the variable may be ours
		if value := os.Getenv(oscVariable); value != oscChoice() {
			now = fmt.Sprintf("; it is %q now", value)
		}
		return fmt.Sprintf("set %s=%s (mpirun -x, or mpirun --mca osc %s) before MPI is "+
			"initialised%s. With UCX on a network without RDMA also set "+
			"OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any",
			oscVariable, oscChoice(), oscChoice(), now)
	case l.kind == openMPI:
		return "try another one-sided component: mpirun --mca osc rdma, or ucx"
	}
	return "try another network: UCX_TLS=tcp,self, or FI_PROVIDER=tcp"
}

// fault is an error of the library with its text.
func (l library) fault(what string, code C.int) error {
	switch code {
	case 0:
		return nil
	case C.FH_GONE:
		return errClosed
	}
	var text [512]C.char
	C.fh_error_text(code, &text[0], C.int(len(text)))
	return fmt.Errorf("rma/mpi: %s: %s: %s", what, l.text, C.GoString(&text[0]))
}

// guard has a crash of the library name the remedy while fn runs.
func (l library) guard(fn func() error) error {
	text := C.CString(fmt.Sprintf("rma/mpi: %s crashes in a one-sided operation; %s\n",
		l.text, l.remedy()))
	C.fh_guard(text)
	defer func() {
		C.fh_guard(nil)
		C.free(unsafe.Pointer(text))
	}()
	return fn()
}

// Exclusive calls fn while the engine does not call MPI. A program that has initialised
// MPI with MPI_THREAD_SERIALIZED makes its own calls so while a job is open. fn must not
// use the job.
func Exclusive(fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.fh_lock()
	defer C.fh_unlock()
	fn()
}
