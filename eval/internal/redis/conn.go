package redis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farhash/farhash/kv"
)

const (
	bufferBytes = 64 << 10    // bytes of answers that are read at once
	timeout     = time.Minute // of a batch
)

// Conn is a connection that speaks RESP 2 itself. A client library would be fair to the
// server, whose CPU time is what counts, but not to the rate and the latencies: an allocation
// and a lock or more for each command, which the ranks of a map do not have either.
type Conn struct {
	ctx  context.Context
	conn net.Conn
	stop func() bool
	in   *bufio.Reader
	out  []byte
	text []byte // a short answer
}

// Network divides an address, "HOST:PORT" or "unix:PATH", for net.Dial.
func Network(address string) (network, at string, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok && path != "" {
		return "unix", path, nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host != "" && port != "" {
		return "tcp", address, nil
	}
	return "", "", fmt.Errorf("a Redis server is %q, HOST:PORT or unix:PATH, not %q",
		Own, address)
}

// Dial connects. The connection breaks off when ctx ends.
func Dial(ctx context.Context, address string) (*Conn, error) {
	network, at, err := Network(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(ctx, network, at)
	if err != nil {
		return nil, fmt.Errorf("no Redis answers: %w", err)
	}
	return &Conn{ctx: ctx, conn: conn, in: bufio.NewReaderSize(conn, bufferBytes),
		stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

func (c *Conn) Close() error {
	if !c.stop() { // it is closed
		return nil
	}
	return c.conn.Close()
}

// Batch sends all calls in one piece, a pipeline, and takes the answers.
func (c *Conn) Batch(calls []kv.Call) error {
	c.out = c.out[:0]
	for i := range calls {
		switch call := &calls[i]; call.Kind {
		case kv.Get:
			c.out = appendCommand(c.out, "GET", call.Key)
		case kv.Put:
			c.out = appendCommand(c.out, "SET", call.Key, call.Value)
		default:
			return fmt.Errorf("there is no command of Redis for %v", call.Kind)
		}
	}
	if err := c.send(); err != nil {
		return err
	}
	for i := range calls {
		if err := c.take(&calls[i]); err != nil {
			return c.failed(err)
		}
	}
	return nil
}

// Begin begins a pipeline, Add adds a command to it, and Send sends it in one piece. Answer is the
// next answer, valid until the one after it.
func (c *Conn) Begin() { c.out = c.out[:0] }

// Add adds a command.
func (c *Conn) Add(name string, args ...[]byte) { c.out = appendCommand(c.out, name, args...) }

// Send sends what was added.
func (c *Conn) Send() error { return c.send() }

// Answer takes the next answer.
func (c *Conn) Answer() ([]byte, error) {
	var err error
	if c.text, _, err = c.answer(c.text[:0]); err != nil {
		return nil, c.failed(err)
	}
	return c.text, nil
}

// take takes the answer to a call.
func (c *Conn) take(call *kv.Call) (err error) {
	if call.Kind == kv.Get {
		call.Value, call.Done, err = c.answer(call.Value)
		return err
	}
	c.text, call.Done, err = c.answer(c.text[:0])
	if err == nil && string(c.text) != "OK" {
		err = fmt.Errorf("it has answered %q to a SET", c.text)
	}
	return err
}

// appendCommand writes an array of byte strings.
func appendCommand(b []byte, name string, args ...[]byte) []byte {
	b = appendSize(b, '*', 1+len(args))
	b = append(appendSize(b, '$', len(name)), name...)
	for _, arg := range args {
		b = append(b, "\r\n"...)
		b = append(appendSize(b, '$', len(arg)), arg...)
	}
	return append(b, "\r\n"...)
}

func appendSize(b []byte, kind byte, size int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(size), 10), "\r\n"...)
}

func (c *Conn) send() error {
	err := c.conn.SetDeadline(time.Now().Add(timeout))
	if err == nil {
		_, err = c.conn.Write(c.out)
	}
	if err != nil {
		return c.failed(err)
	}
	return nil
}

// failed says why: that the context has ended breaks the connection.
func (c *Conn) failed(err error) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	return fmt.Errorf("an answer of Redis: %w", err)
}

// answer appends the next answer to dst, there false where it is that there is none.
func (c *Conn) answer(dst []byte) (answer []byte, there bool, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, false, err
	}
	text := bytes.TrimSuffix(line, []byte("\r\n"))
	if len(text) == 0 || len(text) == len(line) {
		return nil, false, fmt.Errorf("this is no answer: %q", line)
	}
	kind, text := text[0], text[1:]
	switch kind {
	case '+', ':':
		return append(dst, text...), true, nil
	case '-':
		return nil, false, fmt.Errorf("it answers %q", text)
	case '$':
		return c.bulk(dst, text)
	}
	return nil, false, fmt.Errorf("an answer of a kind that was not asked for: %q", line)
}

// bulk appends bytes whose number is size; -1 says that there is no such key.
func (c *Conn) bulk(dst, size []byte) (answer []byte, there bool, err error) {
	n, err := strconv.Atoi(string(size))
	if err != nil || n < -1 || n > 16*kv.MaxSize {
		return nil, false, fmt.Errorf("an answer of %q bytes", size)
	}
	if n < 0 {
		return dst, false, nil
	}
	dst = slices.Grow(dst, n)[:len(dst)+n]
	if _, err := io.ReadFull(c.in, dst[len(dst)-n:]); err != nil {
		return nil, false, err
	}
	_, err = c.in.Discard(len("\r\n"))
	return dst, true, err
}

// Ask sends one command and returns its answer.
func (c *Conn) Ask(words ...string) (string, error) {
	var args [][]byte
	for _, word := range words[1:] {
		args = append(args, []byte(word))
	}
	c.out = appendCommand(c.out[:0], words[0], args...)
	if err := c.send(); err != nil {
		return "", err
	}
	answer, _, err := c.answer(nil)
	if err != nil {
		return "", c.failed(err)
	}
	return string(answer), nil
}

// Login sends a server the password that it wants, if any.
func (c *Conn) Login(password string) error {
	if password == "" {
		return nil
	}
	_, err := c.Ask("AUTH", password)
	return err
}

// MustBeEmpty refuses a server that has keys: what is measured would be lost in them, and they
// would be lost in the end.
func (c *Conn) MustBeEmpty() error {
	keys, err := c.Ask("DBSIZE")
	if err == nil && keys != "0" {
		err = fmt.Errorf("this Redis has %s keys, which are not to be touched: give one "+
			"that is empty, or %q", keys, Own)
	}
	return err
}

// Empty removes all keys.
func Empty(ctx context.Context, address string) error {
	c, err := Dial(ctx, address)
	if err != nil {
		return err
	}
	_, err = c.Ask("FLUSHDB")
	return errors.Join(err, c.Close())
}

// Info is one field of what the server says of itself.
func (c *Conn) Info(section, field string) (string, error) {
	text, err := c.Ask("INFO", section)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("this Redis does not report %s: is it another server?", field)
}

// CPUTime is how long the server has worked so far, with all its threads.
func (c *Conn) CPUTime() (sum time.Duration, err error) {
	for _, field := range []string{"used_cpu_sys", "used_cpu_user"} {
		text, err := c.Info("cpu", field)
		if err != nil {
			return 0, err
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("this Redis reports its CPU time as %q", text)
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum, nil
}
