package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// maxMissedBeats is how many signs of life may be missing in a row.
const maxMissedBeats = 4

// conn is one end of a connection that carries frames.
type conn struct {
	net.Conn
	silence time.Duration // for how long the other end may be silent, where it is watched
	clock   *clock
	within  bool          // both ends are on one host: the end of a process ends the connection
	written chan struct{} // closed when nothing is written any more

	mu      sync.Mutex
	frames  net.Buffers   // to be written
	wake    chan struct{} // there are some, or the connection is to end
	watched bool          // both ends send signs of life
	ending  bool          // when all frames are written
}

func newConn(c net.Conn, cfg *Config) *conn {
	n := &conn{Conn: c, silence: cfg.Silence, clock: cfg.clock, within: !cfg.Apart && sameHost(c),
		watched: true, written: make(chan struct{}), wake: make(chan struct{}, 1)}
	if !n.within {
		n.clock.start()
	}
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

// watch says whether the other end is to be heard of all the time, from now on.
func (c *conn) watch(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched != yes {
		c.watched = yes
		_ = c.SetReadDeadline(time.Now()) // so that a Read under way has another limit
		c.rouse()
	}
}

// limit is until when the other end may be silent, or not take what is sent; zero: as long as it
// likes. Under the lock.
func (c *conn) limit(left time.Duration) time.Time {
	if !c.ending && (c.within || !c.watched) {
		return time.Time{}
	}
	return time.Now().Add(left)
}

// end has the other end read all that was sent, and then the end.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	_ = c.SetDeadline(c.limit(c.silence))
	c.rouse()
}

// close ends the connection at once.
func (c *conn) close() {
	c.end()
	_ = c.Conn.Close()
}

// write writes frames, and signs of life.
func (c *conn) write() {
	defer close(c.written)
	beat := time.NewTimer(c.silence / maxMissedBeats)
	defer beat.Stop()
	for {
		c.mu.Lock()
		frames, ending, beats := c.frames, c.ending, c.watched && !c.within
		c.frames = nil
		if len(frames) > 0 {
			_ = c.SetWriteDeadline(c.limit(c.silence))
		}
		c.mu.Unlock()
		if len(frames) > 0 {
			if _, err := frames.WriteTo(c.Conn); err != nil {
				c.close() // half a frame may be on its way
				return
			}
			continue
		}
		if ending {
			c.closeWrite()
			return
		}
		if beats {
			beat.Reset(c.silence / maxMissedBeats)
		} else {
			beat.Stop()
		}
		select {
		case <-c.wake:
		case <-beat.C:
			c.put('H', nil)
		}
	}
}

func (c *conn) closeWrite() {
	if tcp, ok := c.Conn.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
		_ = c.Conn.Close()
	}
}

// Read reads until the other end was silent for too long while this process ran.
func (c *conn) Read(b []byte) (int, error) {
	left, begun := c.silence, c.clock.now()
	for {
		limit, ending := c.limitRead(left)
		n, err := c.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || ending {
			return n, err
		}
		switch left = c.silence - (c.clock.now() - begun); {
		case limit.IsZero() || !c.isWatched(): // it was not watched, is not any more, or is to end
			left, begun = c.silence, c.clock.now()
		case left <= 0:
			return n, err
		}
	}
}

// limitRead limits a Read, where the connection is not to end: then it is limited already.
func (c *conn) limitRead(left time.Duration) (limit time.Time, ending bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit = c.limit(left); !c.ending {
		_ = c.SetReadDeadline(limit)
	}
	return limit, c.ending
}

// isWatched reports whether the other end is to be heard of all the time.
func (c *conn) isWatched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ending && !c.limit(1).IsZero()
}

// receive takes the next frame that is more than a sign of life.
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
