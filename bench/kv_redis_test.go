package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// someRedis starts a server for a test.
func someRedis(t *testing.T) *redisServer {
	t.Helper()
	if _, err := exec.LookPath(redisProgram); err != nil {
		t.Skip("there is no Redis: ", err)
	}
	s, err := startRedis(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func someConn(t *testing.T, address string) *redisConn {
	t.Helper()
	c, err := dialRedis(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.close() })
	return c
}

// Redis does the same as the map, with right answers, and is compared with it. What was
// started is stopped.
func TestKVRedis(t *testing.T) {
	someRedis(t)
	cfg := smallKV
	cfg.Redis, cfg.Operations = RedisStart, 300
	b := measureKV(t, cfg, false, 1, 1, 3)
	dir := b.server.dir
	r := b.Report("test")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the server is still there: %v", err)
	}
	// Redis is not loaded one record at a time.
	if len(r.Results) != 6*2*2*2-2 || b.Wrong() != 0 ||
		!strings.HasSuffix(r.Setting.Redis, " over unix") {
		t.Fatalf("%d results, %d wrong, of %q", len(r.Results), b.Wrong(), r.Setting.Redis)
	}
	var text, svg bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WritePlot(&svg, "svg")); err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]int{"redis, ranks 3": 2, "F, redis": 2, "C, redis": 1} {
		if strings.Count(svg.String(), ">"+what+"<") != n {
			t.Errorf("the plot does not say %q %d times", what, n)
		}
	}
	if !strings.Contains(text.String(), r.Setting.Redis+": ranks are clients of one server") {
		t.Errorf("nothing is said of Redis:\n%s", &text)
	}
	best := map[KVCase]float64{}
	for _, is := range r.Results {
		if of := (KVCase{is.Workload, KVRedis, is.Ranks, 0}); is.Impl == KVRedis {
			best[of] = max(best[of], is.CoreKops)
			if is.RatioToRedis != nil || is.RoundTrips != 1 || is.CoreKops <= 0 {
				t.Errorf("%+v makes no sense", is)
			}
		}
	}
	for _, is := range r.Results {
		of := KVCase{is.Workload, KVRedis, is.Ranks, 0}
		if is.Impl == KVMap && (is.CoreKops != is.Kops/float64(is.Ranks) ||
			is.RatioToRedis == nil || *is.RatioToRedis != is.CoreKops/best[of]) {
			t.Errorf("%+v beside %v", is, best[of])
		}
	}
	for _, s := range r.Samples {
		calls := uint64(s.took.reads.TotalCount() + s.took.writes.TotalCount())
		if s.Workload == YCSBF {
			calls += uint64(s.took.writes.TotalCount())
		}
		if s.Calls != calls || (s.Served > 0) != (s.Impl == KVRedis) {
			t.Errorf("%d calls of %d, served in %v: %+v", s.Calls, calls, s.Served, s.KVCase)
		}
	}
}

// Reads of a value that is another's, and of a key that is missing, are counted, and the
// server is left without keys.
func TestKVRedisWrong(t *testing.T) {
	server := someRedis(t)
	cfg := smallKV
	cfg.Redis = server.address
	b, err := NewKV(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := someConn(t, server.address)
	var got *KVSample
	err = local.Run(2, func(job rma.Job) (err error) {
		ctx := context.Background()
		r := kvRun{bench: b, job: job, of: KVCase{Impl: KVRedis, Ranks: 2, Batch: 50},
			piece: newKVPiece(&b.cfg, 50)}
		if r.store, err = r.openRedis(ctx); err != nil {
			return err
		}
		if _, err := r.workload(ctx, YCSBLoad, r.piece); err != nil {
			return err
		}
		if job.Rank() == 0 {
			key, value := make([]byte, b.cfg.KeyBytes), make([]byte, b.cfg.ValueBytes)
			fillKey(key, 3)
			fillValue(value, 4, 9)
			_, set := c.ask("SET", string(key), string(value))
			fillKey(key, 5)
			_, del := c.ask("DEL", string(key))
			if err := errors.Join(set, del); err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		s, err := r.workload(ctx, YCSBC, r.piece)
		if err == nil && job.Rank() == 0 {
			got = s
		}
		return errors.Join(err, r.store.close(ctx))
	})
	if err != nil {
		t.Fatal(err)
	}
	var want, stamp uint64
	for rank := range 2 {
		for s := newKVStream(YCSBC, b.law, &b.cfg, rank, 2, &stamp); s.left > 0; {
			if n, _ := s.one(); n == 3 || n == 5 {
				want++
			}
		}
	}
	if want == 0 || got.Wrong != want {
		t.Errorf("%d wrong reads, want %d", got.Wrong, want)
	}
	if keys, err := c.ask("DBSIZE"); err != nil || keys != "0" {
		t.Errorf("%q keys are left, %v", keys, err)
	}
}

// A server that has keys is left alone, one that does not answer is named.
func TestKVRedisRefusals(t *testing.T) {
	round := func(address string) error {
		b, err := NewKV(KVConfig{Records: 10, Operations: 10, Redis: address,
			Impls: []KVImpl{KVRedis}, Batches: []int{1},
			Workloads: []KVWorkload{YCSBC}})
		if err != nil {
			return err
		}
		err = local.Run(1, func(job rma.Job) error { return b.Round(context.Background(), job) })
		return errors.Join(err, b.Close())
	}
	says := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	says(round("unix:"+filepath.Join(t.TempDir(), "none")), "no Redis answers")
	says(round("somewhere"), "HOST:PORT")
	path := os.Getenv("PATH")
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	says(round(RedisStart), "install it, or give the address")
	t.Setenv("PATH", empty+string(os.PathListSeparator)+path)
	broken := "#!/bin/sh\necho out of order\nexit 3\n"
	err := os.WriteFile(filepath.Join(empty, redisProgram), []byte(broken), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	says(round(RedisStart), "out of order")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("x", socketPathMax)))
	if err := os.Mkdir(os.Getenv("TMPDIR"), 0o700); err != nil {
		t.Fatal(err)
	}
	says(round(RedisStart), "too long for a socket")
	t.Setenv("TMPDIR", "/tmp")
	t.Setenv("PATH", path)

	server := someRedis(t)
	c := someConn(t, server.address)
	if _, err := c.ask("SET", "precious", "1"); err != nil {
		t.Fatal(err)
	}
	says(round(server.address), "has 1 keys, which are not to be touched")
	if value, err := c.ask("GET", "precious"); err != nil || value != "1" {
		t.Errorf("the key that was there is %q, %v", value, err)
	}
}

// When the context ends, samples remain and the server has no keys.
func TestKVRedisInterrupted(t *testing.T) {
	server := someRedis(t)
	ctx, cancel := context.WithCancel(context.Background())
	cfg := smallKV
	cfg.Redis, cfg.Operations = server.address, 100
	cfg.Progress = func(s KVSample) {
		if s.Impl == KVRedis {
			cancel()
		}
	}
	b, err := NewKV(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = local.Run(2, func(job rma.Job) error { return b.Round(ctx, job) })
	if r := b.Report("test"); !errors.Is(err, context.Canceled) || len(r.Results) != 7 {
		t.Errorf("%v, %d results, want all of a map and one of Redis", err, len(r.Results))
	}
	keys, err := someConn(t, server.address).ask("DBSIZE")
	if err != nil || keys != "0" {
		t.Errorf("%q keys are left, %v", keys, err)
	}
}

// Answers are understood, and whatever else a server may send is an error.
func TestRedisAnswers(t *testing.T) {
	for sent, want := range map[string]string{
		"+OK\r\n": "OK", ":42\r\n": "42", "$3\r\na\nb\r\n": "a\nb", "$0\r\n\r\n": "",
		"$-1\r\n": "none", "-ERR no\r\n": "error", "": "error", "+OK\n": "error",
		"\r\n": "error", "$3\r\nab": "error", "$x\r\n": "error", "$-2\r\n": "error",
		"$99999999999\r\n": "error", "*0\r\n": "error", "HTTP/1.1 400\r\n": "error",
	} {
		c := redisConn{in: bufio.NewReader(strings.NewReader(sent))}
		answer, there, err := c.answer([]byte("x"))
		got := strings.TrimPrefix(string(answer), "x")
		switch {
		case err != nil:
			got = "error"
		case !there:
			got = "none"
		}
		if got != want || c.in.Buffered() > 0 && err == nil {
			t.Errorf("%q is %q, want %q, and %d bytes are left", sent, got, want, c.in.Buffered())
		}
	}
	c := redisConn{ctx: context.Background()}
	if err := c.batch([]kv.Call{{Kind: kv.Delete, Key: []byte("k")}}); err == nil {
		t.Error("Redis is asked for what it has no command for")
	}
}

// Every rank is told the text of rank 0, whatever its length.
func TestTellAll(t *testing.T) {
	for _, want := range []string{"", "short", "unix:/a path of more than 16 bytes"} {
		told := make([]string, 3)
		err := local.Run(3, func(job rma.Job) (err error) {
			text := "of another rank"
			if job.Rank() == 0 {
				text = want
			}
			told[job.Rank()], err = tellAll(context.Background(), job, text)
			return err
		})
		if err != nil || !slices.Equal(told, []string{want, want, want}) {
			t.Errorf("%q, want %q: %v", told, want, err)
		}
	}
}
