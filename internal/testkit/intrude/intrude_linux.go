// Package intrude has a test change memory at the last moment before another goroutine writes to
// it. So it loses a compare-and-swap to the test, in assembly too.
//
// The memory is mapped twice. The kernel stops a thread that writes to the first mapping, and
// reports that (userfaultfd). The test then writes to the second mapping, and lets the thread go
// on: its instruction begins again.
package intrude

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests and flags of userfaultfd, of linux/userfaultfd.h.
const (
	userModeOnly = 1 // a flag of the call

	requestAPI          = 0xc018aa3f
	requestRegister     = 0xc020aa00
	requestWriteProtect = 0xc018aa06

	api                   = 0xaa
	featureWriteProtect   = 1 << 0
	featureOfSharedMemory = 1 << 12
	modeWriteProtect      = 1 << 1

	eventBytes = 32
)

// Memory is words that are watched.
type Memory struct {
	Words []uint64
	other []uint64 // the second mapping of the same memory
	fd    int
	span  [2]uint64 // where Words begins, and its length in bytes, of whole pages
}

// New maps memory until the test ends. It skips the test where Linux cannot watch memory.
func New(t testing.TB, words int) *Memory {
	t.Helper()
	page := unix.Getpagesize()
	size := (8*words + page - 1) / page * page
	file, err := unix.MemfdCreate("intrude", unix.MFD_CLOEXEC)
	if err == nil {
		defer unix.Close(file)
		err = unix.Ftruncate(file, int64(size))
	}
	var maps [2][]uint64
	for i := range maps {
		if err != nil {
			t.Fatal(err)
		}
		var mem []byte
		mem, err = unix.Mmap(file, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			t.Cleanup(func() { _ = unix.Munmap(mem) })
			maps[i] = unsafe.Slice((*uint64)(unsafe.Pointer(&mem[0])), words)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &Memory{Words: maps[0], other: maps[1]}
	m.span = [2]uint64{uint64(uintptr(unsafe.Pointer(&maps[0][0]))), uint64(size)}
	m.watch(t)
	return m
}

// watch opens and registers a userfaultfd.
func (m *Memory) watch(t testing.TB) {
	t.Helper()
	fd, _, failed := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly, 0, 0)
	if failed != 0 {
		t.Skipf("needs userfaultfd: %v", failed)
	}
	m.fd = int(fd)
	t.Cleanup(func() { _ = unix.Close(m.fd) })
	hello := [3]uint64{api, featureWriteProtect | featureOfSharedMemory}
	register := [4]uint64{m.span[0], m.span[1], modeWriteProtect}
	err := m.request(requestAPI, unsafe.Pointer(&hello))
	if err == nil {
		err = m.request(requestRegister, unsafe.Pointer(&register))
	}
	if err != nil {
		t.Skipf("needs userfaultfd that protects shared memory: %v", err)
	}
}

func (m *Memory) request(number uintptr, argument unsafe.Pointer) error {
	_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(m.fd), number, uintptr(argument))
	if failed != 0 {
		return failed
	}
	return nil
}

// protect has writes stop their threads, or continue.
func (m *Memory) protect(t testing.TB, mode uint64) {
	t.Helper()
	argument := [3]uint64{m.span[0], m.span[1], mode}
	if err := m.request(requestWriteProtect, unsafe.Pointer(&argument)); err != nil {
		t.Errorf("protecting memory: %v", err)
	}
}

// Before calls write, and intruder just before write first writes to the words. Intruder gets them
// in the other mapping, and may change them. A test fails whose write does not write.
func (m *Memory) Before(t testing.TB, intruder func(words []uint64), write func()) {
	t.Helper()
	// A thread that is stopped does not let the garbage collector begin, which would wait for it
	// and stop all others.
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	m.protect(t, 1)
	var intruded atomic.Bool
	written, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		var event [eventBytes]byte
		if _, err := unix.Read(m.fd, event[:]); err != nil {
			t.Errorf("waiting for a write: %v", err)
		}
		intruder(m.other)
		intruded.Store(true)
		for m.protect(t, 0); ; m.protect(t, 0) { // a thread may have stopped again meanwhile
			select {
			case <-written:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	write()
	if !intruded.Load() {
		t.Error("nothing was written")
		atomic.AddUint64(&m.Words[0], 0)
	}
	close(written)
	<-over
}
