//go:build ucx && cgo

package ucx

// #cgo pkg-config: ucx
// #include "shim.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/neighbours"
	"github.com/farhash/farhash/rma/internal/remote"
	"github.com/farhash/farhash/rma/internal/tree"
)

// Built reports whether this program contains the engine.
const Built = true

// Library is the version of UCX that the program is linked with.
func Library() string { return "UCX " + C.GoString(C.fu_version()) }

// errClosed is the answer to a call of a rank that has left.
var errClosed = fmt.Errorf("rma/ucx: for this rank the job is %w", rma.ErrClosed)

// defaultTimeout is how long a rank waits for the others to arrive.
const defaultTimeout = time.Minute

// maxAddressBytes is more than UCX needs for the address of a worker.
const maxAddressBytes = 1 << 14

// member is this process's membership in a job.
type member struct {
	c          *C.fu_job // nil where all ranks share memory
	tree       *tree.Tree
	place      string // in places
	rank, size int
	near       *neighbours.Group // the ranks of this host
	hidden     bool              // no window has memory for direct access
	coherent   bool              // processor atomics and UCX's agree
	p          overrides

	closing  atomic.Bool
	watch    watch
	mu       sync.Mutex // one collective call at a time
	windows  []*window  // made and not freed, in the same order on every rank
	made     uint32     // how many were asked for
	inbox    remote.Inbox
	owner    remote.Owner
	reserves bool // windows take memory in parts
}

var _ rma.Job = (*member)(nil)

// overrides are settings for tests.
type overrides struct {
	host           string // the name of this host; "" is the real one
	transports     string // of UCX; "" leaves it to UCX_TLS
	atomics        atomicsMode
	careless       bool // in the litmus test the owner of memory loses updates
	dies           bool // it closes its connection when ranks have exchanged their hosts
	oversubscribed bool // waiting threads sleep, however many processors there are
	hasty          bool // Close does not wait until the others have left
	store          int  // bytes for requests of others; 0: as many as there are

	elapsed func() time.Duration // by which silence is counted; nil: as always
}

// atomicsMode says whether processor atomics agree with UCX's.
type atomicsMode int

const (
	measured   atomicsMode = iota // as the litmus test says
	coherent                      // yes
	incoherent                    // no
)

// Join makes this process a rank of a job.
func Join(ctx context.Context, cfg Config) (rma.Job, error) {
	return joinAs(ctx, cfg, overrides{})
}

func joinAs(ctx context.Context, cfg Config, p overrides) (rma.Job, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Silence <= 0 {
		cfg.Silence = DefaultSilence
	}
	place := fmt.Sprint(cfg.Rank, " of the job at ", cfg.Rendezvous)
	if _, twice := places.LoadOrStore(place, true); twice {
		return nil, fmt.Errorf("rma/ucx: this process is rank %s already; close that job first, "+
			"or give each job a rendezvous of its own", place)
	}
	job, err := joinPlace(ctx, cfg, p, place)
	if err != nil {
		places.Delete(place)
	}
	return job, err
}

// places are the ranks that this process is.
var places sync.Map

func joinPlace(ctx context.Context, cfg Config, p overrides, place string) (rma.Job, error) {
	within, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	s, err := tree.Join(within, tree.Config{Rank: cfg.Rank, Size: cfg.Size,
		Address: cfg.Rendezvous, Token: cfg.Token, Timeout: cfg.Timeout, Silence: cfg.Silence,
		Apart: cfg.Hidden || p.host != "", Elapsed: p.elapsed})
	if err != nil {
		return nil, fmt.Errorf("rma/ucx: %w", err)
	}
	j := &member{tree: s, place: place, rank: cfg.Rank, size: cfg.Size, hidden: cfg.Hidden, p: p,
		near: neighbours.Alone(cfg.Rank, cfg.Size)}
	if err = j.join(within, cfg); err == nil && !j.near.OneHost() {
		if err = j.tryOut(ctx, cfg.Timeout); err == nil {
			err = j.tryReserve(ctx)
		}
	}
	if err != nil {
		j.fail()
		return nil, err
	}
	if j.near.OneHost() {
		return &onOneHost{neighbours.OneHostJob{Job: j.near.Memory}, j}, nil
	}
	return j, nil
}

// join finds out which ranks share memory, and connects to the others by UCX.
func (j *member) join(ctx context.Context, cfg Config) error {
	if err := j.shareHosts(ctx, cfg); err != nil || j.near.OneHost() {
		return err
	}
	address, err := j.start()
	addresses, err := j.share(ctx, "starting UCX", address, err)
	if err != nil {
		return err
	}
	for rank, a := range addresses {
		C.fu_peer(j.c, C.int(rank), unsafe.Pointer(unsafe.SliceData(a)), C.int(len(a)))
	}
	if err := j.serveOthers(); err != nil {
		return err
	}
	j.watch.begin(j)
	return j.watch.present(ctx)
}

// start starts UCX and returns the address of its worker.
func (j *member) start() ([]byte, error) {
	if err := j.fault("starting "+Library(), j.open()); err != nil {
		return nil, err
	}
	var address [maxAddressBytes]byte
	n := C.fu_address(j.c, unsafe.Pointer(&address[0]), maxAddressBytes)
	return address[:max(n, 0)], j.fault("the address of this rank", min(n, 0))
}

// serveOthers has this rank answer the others.
func (j *member) serveOthers() error {
	if err := j.fault("starting a thread", C.fu_serve(j.c)); err != nil {
		return err
	}
	j.inbox.Dropped = func(from int) bool { return C.fu_lost(j.c, C.int(from)) != 0 }
	j.inbox.Send = func(request unsafe.Pointer, served bool, words int) {
		code := C.int(0)
		if !served {
			code = C.FH_UNSERVED
		}
		C.fu_answer(j.c, request, code, C.int(words))
		if invariant.Enabled {
			s := j.stored()
			invariant.Check(s.sound, "the memory for requests is %+v", s)
		}
	}
	j.inbox.Begin(unsafe.Pointer(C.fu_inbox(j.c)))
	return nil
}

// stored is what the requests of others have of the memory for them.
type stored struct {
	used, limit int
	waiting     int  // claims that wait for room
	sound       bool // the limit is kept, and no claim waits for which there is room
}

func (j *member) stored() stored {
	var now C.fr_store
	sound := C.fu_stored(j.c, &now)
	return stored{int(now.used), int(now.limit), int(now.waiting), sound != 0}
}

// connectVariable has UCX wait for no connection over TCP while it holds the worker: to a host
// that was cut off that would be minutes. UCX warns of it where it does not use TCP.
const connectVariable = "UCX_TCP_CONN_NB"

// Up to pollingRanks ranks a processor poll while they wait. More leave it to others, and sleep.
const pollingRanks = 8

// oversubscribed reports whether so many ranks share a processor that waiting threads are to sleep.
func (j *member) oversubscribed() bool {
	return j.p.oversubscribed || len(j.near.Ranks) > pollingRanks*runtime.NumCPU()
}

func (j *member) open() C.int {
	if os.Getenv(connectVariable) == "" && j.overTCP() {
		_ = os.Setenv(connectVariable, "y") // in C as well; a constant is never refused
	}
	C.fu_filter_log(0)
	transports := append([]byte(j.p.transports), 0)
	devices := append([]byte(j.netDevices()), 0)
	code := C.fu_open(C.int(j.rank), C.int(j.size), C.int(flag(j.oversubscribed())),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(transports))),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(devices))), &j.c)
	if code == 0 && j.p.store > 0 {
		C.fu_limit(j.c, C.int64_t(j.p.store))
	}
	return code
}

// fault is an error of UCX with its text.
func (j *member) fault(what string, code C.int) error {
	switch code {
	case 0:
		return nil
	case C.FH_GONE:
		return errClosed
	}
	return fmt.Errorf("rma/ucx: %s: %s; UCX_LOG_LEVEL=info says more", what,
		C.GoString(C.fu_text(code)))
}

// tryReserve finds out whether UCX leaves the memory of a window alone until it is used. Cards that
// pin memory take all of it. Collective.
func (j *member) tryReserve(ctx context.Context) error {
	all, err := j.share(ctx, "trying to reserve memory", []byte{flag(memory.CanReserve())}, nil)
	if err != nil || !allSet(all) {
		return err
	}
	w, err := j.newWindow(ctx, rma.Spec{Name: "rma/ucx: reserved", Words: direct.UnitBytes / 4,
		Reserve: true}, true)
	if err != nil {
		return err
	}
	all, err = j.share(ctx, "trying to reserve memory", []byte{flag(!w.part.Touched())}, nil)
	j.reserves = err == nil && allSet(all)
	return errors.Join(err, w.Close())
}

// allSet reports whether all ranks have given a 1.
func allSet(all [][]byte) bool {
	return !slices.ContainsFunc(all, func(b []byte) bool { return !slices.Equal(b, []byte{1}) })
}

// Reserves reports whether memory of windows can be taken in parts. All ranks agree.
func (j *member) Reserves() bool { return j.reserves }

// Room is how many bytes the file system of shared memory has left.
func (j *member) Room() uint64 { return j.near.Room() }

func (j *member) Rank() int { return j.rank }
func (j *member) Size() int { return j.size }

// Barrier returns when every rank has called it.
func (j *member) Barrier(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tree.Barrier(ctx)
}

// Exchange sends mine to every rank and returns what each rank sent.
func (j *member) Exchange(ctx context.Context, mine direct.Values) ([]direct.Values, error) {
	var payload []byte
	for _, word := range mine {
		payload = binary.LittleEndian.AppendUint64(payload, word)
	}
	payloads, err := j.tree.Gather(ctx, payload)
	if err != nil {
		return nil, err
	}
	all := make([]direct.Values, j.size)
	for rank, payload := range payloads {
		if len(payload) != direct.ValueWords*8 {
			return nil, fmt.Errorf("rma/ucx: rank %d sent %d bytes; run the same program on every "+
				"rank", rank, len(payload))
		}
		for i := range all[rank] {
			all[rank][i] = binary.LittleEndian.Uint64(payload[i*8:])
		}
	}
	return all, nil
}

// share sends mine to every rank and returns what each rank sent, unless one has failed.
func (j *member) share(ctx context.Context, what string, mine []byte, failed error) (
	[][]byte, error) {
	missed := 0 // 1 + the rank whose death is the reason; 0: it is another one
	var gone *rma.RankError
	if errors.As(failed, &gone) && !gone.Left {
		missed = gone.Rank + 1
	}
	if failed != nil {
		mine = nil
	}
	head := binary.LittleEndian.AppendUint32([]byte{flag(failed != nil)}, uint32(missed))
	all, err := j.tree.Gather(ctx, append(head, mine...))
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	var failure *rma.PeerError
	for rank, payload := range all {
		missed := uint32(0)
		if len(payload) >= len(head) {
			missed = binary.LittleEndian.Uint32(payload[1:])
			all[rank] = payload[len(head):]
		}
		ok := len(payload) >= len(head) && payload[0] == 0
		if !ok && (failure == nil || failure.Lost == nil) {
			failure = j.peerFailed("rma/ucx: "+what, rank, int(missed))
		}
	}
	if failure != nil {
		return nil, failure
	}
	return all, nil
}

// peerFailed is the error of this rank after the failure of another one, which has missed a rank.
func (j *member) peerFailed(what string, peer, missed int) *rma.PeerError {
	lost := missed - 1
	if lost == j.rank { // each has lost the other
		lost = peer
	}
	failure := &rma.PeerError{What: what, Rank: peer}
	if lost >= 0 {
		failure.Lost = &rma.RankError{Rank: lost}
	}
	return failure
}

func flag(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

// Failed lists the ranks that died, or that this rank has lost.
func (j *member) Failed() []int {
	states, _ := j.tree.States()
	var failed []int
	for rank, state := range states {
		lost := !j.closing.Load() && j.c != nil && C.fu_lost(j.c, C.int(rank)) != 0
		if state == tree.Died || lost && state == tree.Here {
			failed = append(failed, rank)
		}
	}
	return failed
}

// missed is a lost rank because of which this one may have failed, or -1.
func (j *member) missed() int {
	if failed := j.Failed(); len(failed) > 0 {
		return failed[0]
	}
	if gone := j.tree.Gone(); gone != nil && !gone.Left {
		return gone.Rank
	}
	return -1
}

// lost is the error of an operation on the memory of a rank that is gone.
func (j *member) lost(rank int) error {
	return &lostError{*j.tree.Reason(rank), j.tree.Loss(rank)}
}

// lostError says that memory is gone, and is an rma.RankError as well.
type lostError struct {
	gone rma.RankError
	text string // which ranks are lost
}

func (e *lostError) Error() string {
	return fmt.Sprintf("rma/ucx: %s; the memory of rank %d is gone", e.text, e.gone.Rank)
}

func (e *lostError) Unwrap() error { return &e.gone }
