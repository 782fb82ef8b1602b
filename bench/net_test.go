package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/bench/internal/rawucx"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/set"
)

// smallNet is two hosts of two ranks.
var smallNet = NetConfig{PerHost: 2, Batch: 64, InFlight: 4, Buckets: 1 << 18,
	Piece: time.Millisecond, Address: "127.0.0.1:9"}

// measureNet measures on hidden memory of four ranks of this process.
func measureNet(t *testing.T, cfg NetConfig, carries bool, rounds int) *NetReport {
	t.Helper()
	var ranks [4]*NetBench
	for i := range ranks {
		b, err := NewNet(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ranks[i] = b
	}
	of := local.Options{Hidden: true, Carries: carries}
	err := local.RunWith(of, len(ranks), func(job rma.Job) (err error) {
		for range rounds {
			if err = ranks[job.Rank()].Round(context.Background(), job); err != nil {
				return err
			}
		}
		return nil
	})
	for _, b := range ranks {
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return ranks[0].Report("test")
}

// Everything is measured, with right answers, and what is missing is told.
func TestNet(t *testing.T) {
	r := measureNet(t, smallNet, true, 2)
	_, noRedis := exec.LookPath(redisProgram)
	missing := map[NetImpl]bool{NetRaw: !rawucx.Built, NetRedis: noRedis != nil}
	for impl, left := range missing {
		told := strings.Contains(strings.Join(r.Notes, "\n"), string(impl)+" is left out")
		if told != left {
			t.Errorf("%s is missing: %v; notes: %q", impl, left, r.Notes)
		}
	}
	want := 0
	for _, traffic := range NetTraffics() {
		for _, of := range smallNetCases(t, traffic) {
			if !missing[of.Impl] {
				want++
			}
		}
	}
	if len(r.Results) != want {
		t.Errorf("%d results, want %d", len(r.Results), want)
	}
	for i := range r.Results {
		checkNet(t, &r.Results[i])
	}
	var text, svg, lines, object bytes.Buffer
	err := errors.Join(r.WriteText(&text), r.WritePlot(&svg, "svg"), r.WriteBenchfmt(&lines),
		r.WriteJSON(&object))
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for i := range r.Results {
		runs += r.Results[i].Runs
	}
	if n := strings.Count(lines.String(), "BenchmarkNet/impl="); n != runs {
		t.Errorf("%d lines for benchstat, want %d", n, runs)
	}
	if !json.Valid(object.Bytes()) || !strings.Contains(text.String(), "/ one-sided") ||
		strings.Count(svg.String(), ">one-sided<") != 3 {
		t.Errorf("the report makes no sense:\n%s", &text)
	}
}

func smallNetCases(t *testing.T, traffic NetTraffic) []NetCase {
	b, err := NewNet(smallNet)
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.Config()
	return cfg.cases(traffic)
}

// checkNet checks the counts of a result of two rounds.
func checkNet(t *testing.T, is *NetResult) {
	t.Helper()
	clients := map[NetTraffic]int{NetOneWay: 2, NetBothWays: 4}[is.Traffic]
	inserted, messages, runs := is.Operations/2, 0.0, 2
	switch {
	case is.Batch == 1:
		clients, inserted, messages, runs = 1, 0, 1, 2*netTurns
	case is.Impl.gets():
		inserted, messages = 0, 1
	case is.Impl == NetOneSided:
		messages = 1.5 // half of the words need a compare-and-swap
	}
	wrong := is.Runs != runs || is.Clients != clients || is.Operations == 0 ||
		is.Inserted != inserted || is.Kops <= 0 || (is.Latencies != nil) != (is.Batch == 1)
	switch is.Impl {
	case NetRedis:
		wrong = wrong || is.Messages != nil || is.RatioToRedis != nil
	case NetShipped:
		wrong = wrong || *is.Messages > .2 || is.RatioToOneSided == nil
	default:
		wrong = wrong || *is.Messages < messages || *is.Messages > messages*1.1 ||
			is.GetBytes < netLine || is.RatioToEngine == nil && is.Impl != NetRaw
	}
	if wrong {
		t.Errorf("%+v makes no sense, with %s messages", is, messagesText(is.Messages))
	}
}

// An engine that carries no batches is measured without.
func TestNetNotCarried(t *testing.T) {
	cfg := smallNet
	cfg.Impls = []NetImpl{NetOneSided, NetShipped}
	r := measureNet(t, cfg, false, 1)
	if want := "shipped is left out: the engine carries no batches"; len(r.Notes) != 1 ||
		r.Notes[0] != want || len(r.Results) != 3 {
		t.Errorf("%d results, notes %q", len(r.Results), r.Notes)
	}
}

// Words go to targets only, no two clients have the same, and so many of a batch are new.
func TestNetWords(t *testing.T) {
	seen := map[uint64]bool{}
	err := local.Run(4, func(job rma.Job) error {
		if job.Rank() > 0 {
			return nil
		}
		for client := range 2 {
			s := &netWords{client: uint64(client), clients: 2, state: 5,
				targets: []bool{false, false, true, true}}
			batch := make([]uint64, 100)
			for fresh := range 100 {
				before := len(s.known)
				if before == 0 {
					fresh = len(batch)
				}
				s.fill(batch, fresh)
				if len(s.known)-before != fresh {
					t.Fatalf("%d new words, want %d", len(s.known)-before, fresh)
				}
				for _, word := range batch {
					if owner := ownerOf(word, 4); owner < 2 || word > set.MaxWord {
						t.Fatalf("word %#x is of rank %d", word, owner)
					}
				}
				for _, word := range s.known[before:] {
					if seen[word] {
						t.Fatalf("word %#x is new for the second time", word)
					}
					seen[word] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A set keeps words with the ranks that ownerOf says.
func TestOwnerOf(t *testing.T) {
	const ranks, words = 3, 3000
	err := local.Run(ranks, func(job rma.Job) (err error) {
		ctx := context.Background()
		s, err := set.New(ctx, job, set.Config{Buckets: 1 << 16})
		if err != nil {
			return err
		}
		for i := range uint64(words) {
			if _, err := s.FindOrPut(mix63(i*ranks + uint64(job.Rank()) + 1)); err != nil {
				return err
			}
		}
		if err := job.Barrier(ctx); err != nil {
			return err
		}
		n, strays := 0, 0
		for word, err := range s.Local(ctx) {
			if err != nil {
				return err
			}
			if n++; ownerOf(word, ranks) != job.Rank() {
				strays++
			}
		}
		if n < words/2 || strays > 5 {
			t.Errorf("rank %d has %d words, %d of them of others", job.Rank(), n, strays)
		}
		return errors.Join(job.Barrier(ctx), s.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Ratios are those of the gets that compare.
func TestNetRatios(t *testing.T) {
	b, err := NewNet(smallNet)
	if err != nil {
		t.Fatal(err)
	}
	keep := func(impl NetImpl, bytes int, gets, swaps, operations uint64) {
		of := NetCase{impl, NetOneWay, 4, bytes}
		if !impl.gets() {
			of.Batch = 64
		}
		b.keep(&NetSample{NetCase: of, Operations: operations, Elapsed: time.Second, Gets: gets,
			Messages: gets + swaps, Payload: gets*uint64(max(bytes, 128)) + swaps*8,
			took: newHistogram()})
	}
	keep(NetRaw, 64, 1000, 0, 1000)
	keep(NetRaw, 512, 500, 0, 500)
	keep(NetEngine, 512, 450, 0, 450)
	keep(NetOneSided, 0, 600, 300, 600)
	keep(NetShipped, 0, 0, 10, 6000)
	keep(NetRedis, 0, 0, 0, 2000)
	for _, is := range b.Report("test").Results {
		for what, got := range map[string]struct {
			ratio *float64
			want  map[NetImpl]float64
		}{
			"raw": {is.RatioToRaw, map[NetImpl]float64{NetRaw: 1, NetEngine: .9, NetOneSided: .9}},
			"one-sided": {is.RatioToOneSided, map[NetImpl]float64{NetShipped: 10,
				NetRedis: 2000. / 600}},
			"redis": {is.RatioToRedis, map[NetImpl]float64{NetOneSided: .3, NetShipped: 3}},
		} {
			want, there := got.want[is.Impl]
			if there != (got.ratio != nil) || there && math.Abs(*got.ratio/want-1) > 1e-6 {
				t.Errorf("%s %v beside %s: %s, want %v", is.Impl, is.GetBytes, what,
					ratioText(got.ratio), want)
			}
		}
	}
}

// What makes no sense is refused.
func TestNetConfig(t *testing.T) {
	for _, c := range []NetConfig{
		{}, {PerHost: -1}, {PerHost: 1, Batch: 1}, {PerHost: 1, InFlight: 1},
		{PerHost: 1, Bytes: []int{63}}, {PerHost: 1, Bytes: []int{64, 64}},
		{PerHost: 1, New: 1.5}, {PerHost: 1, Piece: time.Hour}, {PerHost: 1, Batch: 1 << 30},
		{PerHost: 1, Impls: []NetImpl{"none"}}, {PerHost: 1, Traffics: []NetTraffic{"none"}},
	} {
		if _, err := NewNet(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
	small := NetConfig{PerHost: 2, Buckets: 100}
	for _, c := range []NetConfig{{PerHost: 3}, {PerHost: 4}, small} {
		b, err := NewNet(c)
		if err != nil {
			t.Fatal(err)
		}
		err = local.Run(4, func(job rma.Job) error { return b.Round(context.Background(), job) })
		if err == nil {
			t.Errorf("%+v was measured with 4 ranks", c)
		}
	}
}

// A server at a port wants the password.
func TestRedisAt(t *testing.T) {
	if _, err := exec.LookPath(redisProgram); err != nil {
		t.Skip("there is no Redis: ", err)
	}
	host, err := ownAddress("127.0.0.1:9")
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("this host is %q to itself: %v", host, err)
	}
	s, err := startRedisAt(context.Background(), host, "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	c := someConn(t, s.address)
	if _, err := c.ask("DBSIZE"); err == nil {
		t.Error("a stranger is let in")
	}
	if err := c.login("wrong"); err == nil {
		t.Error("a wrong password is taken")
	}
	if err := c.login("secret"); err != nil {
		t.Error(err)
	}
	if keys, err := c.ask("DBSIZE"); err != nil || keys != "0" {
		t.Errorf("%q keys, %v", keys, err)
	}
}
