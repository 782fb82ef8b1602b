package star

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

// conn is one end of a connection that carries frames.
type conn struct {
	net.Conn
	beat    time.Duration
	writing sync.Mutex
	done    chan struct{} // closed by close
	once    sync.Once
}

func newConn(c net.Conn, beat time.Duration) *conn {
	return &conn{Conn: c, beat: beat, done: make(chan struct{})}
}

func (c *conn) close() {
	c.once.Do(func() { close(c.done) })
	_ = c.Conn.Close()
}

// closeWrite has the other end read all that was sent, and then the end.
func (c *conn) closeWrite() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.once.Do(func() { close(c.done) })
	if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		return
	}
	_ = c.Conn.Close()
}

// limit is until when the other end may be silent, or not take what is sent.
func (c *conn) limit() time.Time { return time.Now().Add(maxMissedBeats * c.beat) }

// Read reads until the other end was silent for too long. If this process was stopped
// in this time, the other end perhaps was as well, so it gets as much time again.
func (c *conn) Read(b []byte) (int, error) {
	for {
		limit := c.limit()
		_ = c.SetReadDeadline(limit)
		n, err := c.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(limit) < c.beat {
			return n, err
		}
	}
}

// send sends a frame.
func (c *conn) send(kind byte, payload []byte) error {
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	frame = append(append(frame, kind), payload...)
	c.writing.Lock()
	defer c.writing.Unlock()
	select {
	case <-c.done:
		return net.ErrClosed
	default:
	}
	_ = c.SetWriteDeadline(c.limit())
	_, err := c.Write(frame)
	if err != nil {
		c.close() // half a frame may be on its way
	}
	return err
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

// pulse sends signs of life.
func (c *conn) pulse() {
	tick := time.NewTicker(c.beat)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
			_ = c.send('H', nil)
		}
	}
}

var errMalformed = errors.New("a malformed frame")

// join packs the payloads of all ranks.
func join(payloads [][]byte) []byte {
	var all []byte
	for _, g := range payloads {
		all = append(binary.LittleEndian.AppendUint32(all, uint32(len(g))), g...)
	}
	return all
}

// split is the inverse of join.
func split(all []byte, size int) ([][]byte, error) {
	payloads := make([][]byte, size)
	for rank := range payloads {
		if len(all) < 4 {
			return nil, errMalformed
		}
		n := binary.LittleEndian.Uint32(all)
		all = all[4:]
		if uint64(n) > uint64(len(all)) {
			return nil, errMalformed
		}
		payloads[rank], all = all[:n:n], all[n:]
	}
	if len(all) != 0 {
		return nil, errMalformed
	}
	return payloads, nil
}

func encodeState(rank int, p peer) []byte {
	b := append(appendNumbers(nil, uint32(rank), p.missed), byte(p.state))
	return binary.LittleEndian.AppendUint64(b, p.given)
}

func decodeState(b []byte, size int) (rank int, p peer, err error) {
	n, b, err := takeNumbers(b, 2)
	if err != nil || len(b) != 9 || uint64(n[0]) >= uint64(size) || uint64(n[1]) > uint64(size) ||
		State(b[0]) != Left && State(b[0]) != Died {
		return 0, p, errMalformed
	}
	return int(n[0]), peer{state: State(b[0]), given: binary.LittleEndian.Uint64(b[1:]),
		missed: n[1]}, nil
}

func appendNumbers(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// takeNumbers takes count numbers off the front.
func takeNumbers(b []byte, count int) (numbers []uint32, rest []byte, err error) {
	if len(b) < 4*count {
		return nil, nil, errMalformed
	}
	for range count {
		numbers = append(numbers, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	return numbers, b, nil
}
