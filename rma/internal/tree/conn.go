package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection that carries frames.
type conn struct {
	net.Conn
	silence time.Duration // for how long the other end may be out of reach
	limit   time.Duration // for how long its kernel may owe an answer
	within  bool          // both ends are on one host: the end of a process ends the connection
	watcher *watcher
	written chan struct{} // closed when nothing is written any more

	mu       sync.Mutex
	frames   net.Buffers   // to be written
	wake     chan struct{} // there are some, or the connection is to end
	watched  bool          // this end watches the other one
	ask      func(net.Conn) (answers, bool)
	question question
	silent   bool // the connection was closed because no answer came
	ending   bool // when all frames are written
}

func newConn(c net.Conn, cfg *Config) *conn {
	n := &conn{Conn: c, silence: cfg.Silence, limit: max(cfg.Silence*3/4, minLimit),
		within: !cfg.Apart && sameHost(c), ask: askKernel, watcher: cfg.watcher,
		written: make(chan struct{}), wake: make(chan struct{}, 1)}
	if !n.within {
		prepareKernel(c, n.silence)
	}
	n.watch(true)
	go n.write()
	return n
}

// sameHost reports whether both ends have one address.
func sameHost(c net.Conn) bool {
	a, _ := c.LocalAddr().(*net.TCPAddr)
	b, _ := c.RemoteAddr().(*net.TCPAddr)
	return a != nil && b != nil && a.IP.Equal(b.IP)
}

// put sends a frame. It waits for nobody.
func (c *conn) put(kind byte, payload []byte) { c.putFrame(encodeFrame(kind, payload)) }

func (c *conn) putFrame(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending {
		c.frames = append(c.frames, frame)
		c.rouse()
	}
}

// rouse wakes the writer, under the lock.
func (c *conn) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// watch says whether this end watches the other one from now on.
func (c *conn) watch(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = yes && !c.within && !c.ending
	c.question = question{}
	c.watcher.set(c, c.watched)
}

// look takes the connection for lost when the kernel at the other end has not answered for too
// long. It sends a frame that means nothing when no answer is due: the kernel answers that, whether
// the process there runs or not.
func (c *conn) look(now time.Time) {
	c.mu.Lock()
	a, known := c.ask(c.Conn)
	lost := known && c.watched && c.question.unanswered(a, now, c.limit)
	asks := known && c.watched && !a.due && a.age >= c.silence/askedPerSilence
	c.silent = c.silent || lost
	c.mu.Unlock()
	if lost {
		c.close()
	} else if asks {
		c.put('H', nil)
	}
}

// wasSilent reports whether a connection has ended because the host at the other end has not
// answered. err is the error of its end.
func (c *conn) wasSilent(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent || errors.Is(err, syscall.ETIMEDOUT)
}

// end has the other end read all that was sent, and then the end.
func (c *conn) end() {
	c.watch(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	_ = c.SetDeadline(time.Now().Add(c.silence))
	c.rouse()
}

// close ends the connection at once.
func (c *conn) close() {
	c.end()
	_ = c.Conn.Close()
}

// write writes frames. A process that does not read them, as one that is stopped, has it wait.
func (c *conn) write() {
	defer close(c.written)
	for {
		c.mu.Lock()
		frames, ending := c.frames, c.ending
		c.frames = nil
		c.mu.Unlock()
		switch {
		case len(frames) > 0:
			if _, err := frames.WriteTo(c.Conn); err != nil {
				c.close() // half a frame may be on its way
				return
			}
		case ending:
			c.closeWrite()
			return
		default:
			<-c.wake
		}
	}
}

func (c *conn) closeWrite() {
	if tcp, ok := c.Conn.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
		_ = c.Conn.Close()
	}
}

// receive takes the next frame that means something.
func (c *conn) receive(maxBytes int) (kind byte, payload []byte, err error) {
	for {
		kind, payload, err = readFrame(c, maxBytes)
		if err != nil {
			c.close()
		}
		if err != nil || kind != 'H' {
			return kind, payload, err
		}
	}
}

func encodeFrame(kind byte, payload []byte) []byte {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 5+len(payload)),
		uint32(len(payload)))
	return append(append(frame, kind), payload...)
}

// readFrame reads a frame with a payload of at most maxBytes.
func readFrame(r io.Reader, maxBytes int) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if uint64(size) > uint64(maxBytes) {
		return 0, nil, fmt.Errorf("a frame of %d bytes, and %d are allowed", size, maxBytes)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return head[4], payload, err
}
