package shared

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farhash/farhash/kv"

	"github.com/farhash/farhash/eval/internal/server"
)

const (
	memcachedProgram = "memcached"
	memcachedItem    = 512 // bytes, at most, of a record with all that the server adds
	bufferBytes      = 64 << 10
	answerLimit      = time.Minute
)

// startMemcached starts a server that has room for all records, and returns its socket.
func startMemcached(ctx context.Context, records uint64) (*server.Server, string, error) {
	s, err := server.New(memcachedProgram)
	if err != nil {
		return nil, "", err
	}
	path, err := s.Socket()
	if err == nil {
		const slabs = 64 // MB, which classes of items take beside
		megabytes := strconv.FormatUint(records*memcachedItem>>20+slabs, 10)
		args := []string{"-s", path, "-m", megabytes, "-M", "-u", "root"}
		err = s.Start(ctx, "", args, func(context.Context) error {
			c, err := dialMemcached(path)
			if err != nil {
				return err
			}
			return c.Close()
		})
	}
	if err != nil {
		return nil, "", errors.Join(err, s.Stop())
	}
	return s, path, nil
}

// memcached is a connection that speaks the meta commands of the protocol.
type memcached struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

func dialMemcached(path string) (*memcached, error) {
	conn, err := net.DialTimeout("unix", path, answerLimit)
	if err != nil {
		return nil, err
	}
	return &memcached{conn: conn, in: bufio.NewReaderSize(conn, bufferBytes)}, nil
}

func (c *memcached) Close() error { return c.conn.Close() }

// Batch makes calls in pipelines. Each answer is a message, of which a socket does not hold many.
func (c *memcached) Batch(calls []kv.Call) error {
	for some := range slices.Chunk(calls, step) {
		if err := c.pipeline(some); err != nil {
			return fmt.Errorf("memcached: %w", err)
		}
	}
	return nil
}

// pipeline sends calls in one piece, and takes the answers.
func (c *memcached) pipeline(calls []kv.Call) error {
	c.out = c.out[:0]
	for i := range calls {
		call, command := &calls[i], "mg "
		if call.Kind == kv.Put {
			command = "ms "
		}
		c.out = base64.RawURLEncoding.AppendEncode(append(c.out, command...), call.Key)
		if call.Kind == kv.Put {
			c.out = strconv.AppendInt(append(c.out, ' '), int64(len(call.Value)), 10)
			c.out = append(append(c.out, "\r\n"...), call.Value...)
		} else {
			c.out = append(c.out, " v"...)
		}
		c.out = append(c.out, "\r\n"...)
	}
	err := c.conn.SetDeadline(time.Now().Add(answerLimit))
	if err == nil {
		_, err = c.conn.Write(c.out)
	}
	for i := 0; err == nil && i < len(calls); i++ {
		err = c.answer(&calls[i])
	}
	return err
}

// answer takes the answer to a call.
func (c *memcached) answer(call *kv.Call) error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	switch text := strings.TrimSuffix(string(line), "\r\n"); {
	case text == "HD" && call.Kind == kv.Put:
		return nil
	case text == "EN" && call.Kind == kv.Get:
		call.Done = false
		return nil
	case strings.HasPrefix(text, "VA ") && call.Kind == kv.Get:
		size, err := strconv.Atoi(text[len("VA "):])
		if err != nil || size < 0 || size > cap(call.Value) {
			return fmt.Errorf("it has answered %q", text)
		}
		call.Value = call.Value[:size]
		if _, err := io.ReadFull(c.in, call.Value); err != nil {
			return err
		}
		call.Done = true
		_, err = c.in.Discard(len("\r\n"))
		return err
	default:
		return fmt.Errorf("it has answered %q", text)
	}
}
