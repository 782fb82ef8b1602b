package shm

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/farhash/farhash/internal/system/backoff"
	"github.com/farhash/farhash/internal/system/memory"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/internal/direct"
	"github.com/farhash/farhash/rma/internal/mapped"
)

// member is this process's membership in a job of processes.
type member struct {
	cfg     Config
	control *file
	nonce   uint64
	group   *direct.Group

	mu      sync.Mutex
	made    int // collective calls of NewWindow
	windows direct.Registry
	closed  bool
}

var _ rma.Job = (*member)(nil)

// Join connects this rank to the others of the job.
func Join(ctx context.Context, cfg Config) (rma.Job, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(cfg.Dir); err != nil {
		return nil, fmt.Errorf("rma/shm: no place for shared memory: %w", err)
	}
	joinCtx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	control, nonce, err := openControl(joinCtx, cfg)
	if err != nil {
		return nil, err
	}
	j := &member{cfg: cfg, control: control, nonce: nonce}
	j.group = direct.NewGroup(cfg.Rank, cfg.Size, control.segments(),
		func(rank int) bool { return control.Locked(int64(rank)) })
	err = j.group.Join(ctx, cfg.Timeout)
	if err == nil {
		// After it all ranks have the file open: the name is not needed any more.
		err = j.group.Barrier(ctx)
	}
	if cfg.Rank == 0 {
		control.Unname()
	}
	if err == nil {
		// After it no rank of the next job of that name finds this one.
		err = j.group.Barrier(ctx)
	}
	if err != nil {
		j.group.Close()
		return nil, errors.Join(err, control.Close())
	}
	return j, nil
}

// openControl makes (rank 0) or opens (the others) the control file and takes the
// lock of this rank.
func openControl(ctx context.Context, cfg Config) (*file, uint64, error) {
	path := filePath(cfg.Dir, cfg.Job, "ctl")
	if cfg.Rank == 0 {
		return makeControl(ctx, cfg, path)
	}
	return awaitControl(ctx, cfg, path)
}

// makeControl makes the control file, after removing what dead jobs have left.
func makeControl(ctx context.Context, cfg Config, path string) (*file, uint64, error) {
	nonce := newNonce()
	var pace backoff.Backoff
	for {
		if err := sweep(cfg.Dir, fmt.Sprintf("farhash.%d.*", os.Getuid())); err != nil {
			return nil, 0, err
		}
		f, err := createFile(path, header{kindControl, uint64(cfg.Size), direct.LineWords, nonce})
		if !errors.Is(err, fs.ErrExist) {
			return f, nonce, err
		}
		if err := removable(path, cfg.Job); err != nil {
			return nil, 0, err
		}
		if ctx.Err() != nil {
			return nil, 0, fmt.Errorf("rma/shm: %s is left over and cannot be removed: %w",
				path, ctx.Err())
		}
		pace.Pause()
	}
}

// removable says why the file at path will not go away; nil where it is of a dead
// job or gone already.
func removable(path, job string) error {
	f, _, err := examine(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer f.Close()
	if f.Locked(0) {
		return fmt.Errorf("rma/shm: a job named %q is already starting on this host (%s); "+
			"give this one another name, and only one process the number 0", job, path)
	}
	return nil
}

// awaitControl waits for the control file of a living rank 0.
func awaitControl(ctx context.Context, cfg Config, path string) (*file, uint64, error) {
	start, pace := time.Now(), backoff.Backoff{}
	for {
		f, h, err := openFile(path)
		switch {
		case err == nil && !f.Locked(0): // left over from a job that is dead
			_ = f.Close()
		case err == nil:
			if err := takePlace(f, h, cfg); err != nil {
				return nil, 0, errors.Join(err, f.Close())
			}
			return f, h.nonce, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, 0, err
		}
		if ctx.Err() != nil {
			return nil, 0, fmt.Errorf("rma/shm: rank %d waited %v for rank 0 of job %q, which "+
				"never came to %s: %w", cfg.Rank,
				min(cfg.Timeout, time.Since(start).Round(time.Millisecond)), cfg.Job, cfg.Dir,
				ctx.Err())
		}
		pace.Pause()
	}
}

// takePlace makes this process the rank of its Config.
func takePlace(f *file, h header, cfg Config) error {
	if h.kind != kindControl || h.words != direct.LineWords {
		return f.foreign("it is no control file")
	}
	if h.ranks != uint64(cfg.Size) {
		return fmt.Errorf("rma/shm: job %q has %d ranks for rank 0 and %d for rank %d",
			cfg.Job, h.ranks, cfg.Size, cfg.Rank)
	}
	free, err := f.Lock(int64(cfg.Rank))
	if err == nil && !free {
		err = fmt.Errorf("rma/shm: job %q has a rank %d already; "+
			"two processes were given the same number", cfg.Job, cfg.Rank)
	}
	return err
}

func newNonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func (j *member) Rank() int { return j.cfg.Rank }
func (j *member) Size() int { return j.cfg.Size }

// Barrier returns when every rank has called it.
func (j *member) Barrier(ctx context.Context) error { return j.group.Barrier(ctx) }

// NewQueue returns a queue that works on memory.
func (j *member) NewQueue(depth int) (rma.Queue, error) { return direct.NewQueue(depth) }

// Reserves reports whether memory of windows can be taken in parts.
func (j *member) Reserves() bool { return memory.CanReserve() }

// Room is how many bytes the file system of shared memory has left.
func (j *member) Room() uint64 { return mapped.Room(j.cfg.Dir) }

// Failed lists the ranks that died without Close.
func (j *member) Failed() []int { return j.group.Failed() }

// NewWindow makes a window in a file of its own.
func (j *member) NewWindow(ctx context.Context, spec rma.Spec) (rma.Window, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := direct.AgreeOnSpec(ctx, j.group, spec); err != nil {
		return nil, err
	}
	number := j.made
	j.made++
	f, err := j.shareFile(ctx, j.windowPath(number), spec)
	if err != nil {
		return nil, fmt.Errorf("making window %q: %w", spec.Name, err)
	}
	w := j.windows.Open(j.cfg.Rank, j.cfg.Size, f.segments(), j.cfg.Hidden, f.Close)
	if spec.Reserve {
		units := direct.NewUnits("rma/shm: shared memory in "+j.cfg.Dir, len(f.Mem), f.Take)
		w.CommitBy(func(begin, end int) error {
			return units.Commit(headerBytes+begin*8, headerBytes+end*8)
		})
	}
	return w, nil
}

// windowPath is where ranks find a window that is being made. The nonce keeps a later
// job of the same name away from it.
func (j *member) windowPath(number int) string {
	return filePath(j.cfg.Dir, j.cfg.Job, fmt.Sprintf("%016x.w%d", j.nonce, number))
}

// shareFile has rank 0 make the file, the others open it, and each rank reserve its
// own segment. Either all ranks succeed or none does.
func (j *member) shareFile(ctx context.Context, path string, spec rma.Spec) (*file, error) {
	var f *file
	var err error
	if j.cfg.Rank == 0 {
		if !spec.Reserve {
			err = checkRoom(j.cfg.Dir, spec, j.cfg.Size)
		}
		if err == nil {
			f, err = createFile(path,
				header{kindWindow, uint64(j.cfg.Size), uint64(spec.Words), j.nonce})
		}
	}
	if err = j.allOK(ctx, err); err == nil {
		if j.cfg.Rank != 0 {
			f, err = j.openWindow(path, spec)
		}
		if err == nil && !spec.Reserve {
			begin := headerBytes + j.cfg.Rank*spec.Words*8
			err = f.Take(begin, begin+spec.Words*8)
		}
		err = j.allOK(ctx, err)
	}
	if j.cfg.Rank == 0 && f != nil {
		f.Unname()
	}
	if err != nil {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	return f, nil
}

// openWindow opens the file that rank 0 made.
func (j *member) openWindow(path string, spec rma.Spec) (*file, error) {
	f, h, err := openFile(path)
	if err != nil {
		return nil, err
	}
	want := header{kindWindow, uint64(j.cfg.Size), uint64(spec.Words), j.nonce}
	if h != want {
		return nil, errors.Join(f.foreign("it belongs to another job"), f.Close())
	}
	return f, nil
}

// allOK returns mine where that is an error, and an error on all ranks where one has failed.
func (j *member) allOK(ctx context.Context, mine error) error {
	var v direct.Values
	if mine != nil {
		v[0] = 1
	}
	all, err := j.group.Exchange(ctx, v)
	if mine != nil || err != nil {
		return errors.Join(mine, err)
	}
	for rank := range all {
		if all[rank][0] != 0 {
			return &rma.PeerError{What: "rma/shm: sharing memory", Rank: rank}
		}
	}
	return nil
}

// checkRoom reports missing memory before any is reserved.
func checkRoom(dir string, spec rma.Spec, size int) error {
	need := headerBytes + uint64(size)*uint64(spec.Words)*8
	left := mapped.Room(dir)
	if need > left {
		return fmt.Errorf("rma/shm: %s has %s left and %s are needed: %s are missing: %w; %s", dir,
			memory.Format(left), memory.Format(need), memory.Format(need-left), unix.ENOSPC,
			mapped.RoomRemedy)
	}
	return memory.Check(need, "rma/shm: shared memory in "+dir)
}

// Close leaves the job and unmaps its windows.
func (j *member) Close() error {
	j.group.Close() // first: NewWindow may wait, holding the lock
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	return errors.Join(j.windows.CloseAll(), j.control.Close())
}

// RemoveJob removes what a job that is over may have left in dir (empty:
// DefaultDir). Files in use by living processes stay.
func RemoveJob(dir, job string) error {
	cfg := Config{Size: 1, Job: job, Dir: dir}
	if err := cfg.complete(); err != nil {
		return err
	}
	return sweep(cfg.Dir, filepath.Base(filePath(cfg.Dir, job, "*")))
}

// sweep removes the files of this user that match and that no living rank 0 holds.
func sweep(dir, pattern string) error {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return fmt.Errorf("rma/shm: listing old files in %s: %w", dir, err)
	}
	for _, name := range names {
		removeDead(filepath.Join(dir, name))
	}
	return nil
}

// removeLock is the byte that a process locks to remove a file, after the bytes of ranks.
const removeLock = MaxRanks

// removeDead removes a file of a job whose rank 0 is dead. Rank 0 does not come back,
// so the file stays dead; but another process may remove it at the same time and
// a new job take the name. Hence the lock, under which unname examines the name.
func removeDead(path string) {
	f, _, err := examine(path)
	if err != nil {
		return // gone by now, or not ours
	}
	defer f.Close()
	if f.Locked(0) {
		return
	}
	if free, err := f.Lock(removeLock); err == nil && free {
		f.Unname()
	}
}
