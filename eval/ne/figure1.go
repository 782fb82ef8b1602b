package ne

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/rma"

	"github.com/farhash/farhash/eval/internal/experiment"
	"github.com/farhash/farhash/eval/internal/measure"
	"github.com/farhash/farhash/eval/internal/record"
	"github.com/farhash/farhash/eval/internal/view"
)

const (
	maxFigureBytes = 1 << 20
	segmentWords   = 1 << 20
	owner          = 1 // the rank whose memory is worked on, by rank 0
)

// Figure1 is NE Fig. 1: latencies of one-sided operations, and of TCP.
func Figure1() *experiment.Experiment {
	whole := func(unit, head string) view.Column {
		return view.Column{Unit: unit, Head: head, Whole: true}
	}
	return &experiment.Experiment{
		Name:  "figure1",
		Hosts: true,
		Short: "NE Fig. 1: latencies of a get, a put and a compare-and-swap, and of TCP",
		Long: `Takes the time of one-sided operations of a rank on the memory of another host, one
at a time: get, put and compare-and-swap. tcp is a message and an answer of as many bytes, between
sockets of the same two processes. NE's figure has 10 bytes and 1 KB, and no numbers.

farhash run --rendezvous starts it on two hosts, a rank on each:

  farhash run --rendezvous 10.0.0.1:29500 --nnodes 2 --node-rank 0 --nproc 1 \
      --token-file token -- farhash-eval ne figure1`,
		Takes: "a few seconds",
		Runs:  3,
		Views: []view.View{{Name: "Latency", Title: "latencies in ns",
			Columns: []view.Column{whole("each-p50-ns", "p50"), whole("each-p90-ns", "p90"),
				whole("each-p99-ns", "p99"),
				{Unit: "each-p50-ns", Over: record.K("op", "tcp"), Digits: 2}},
			Plots: []view.Plot{{Title: "median latency", Panel: "bytes", X: "op",
				Y: "each-p50-ns", YName: "us", By: 1e-3}}}},
		New: func(flags *pflag.FlagSet) experiment.Runner {
			f := &figure1{}
			flags.IntSliceVar(&f.bytes, "bytes", []int{8, 1024}, "of a get, a put or a message")
			experiment.CountVar(flags, &f.operations, "ops", 5000, "operations of each kind")
			return f
		},
	}
}

// figure1 measures what the flags say.
type figure1 struct {
	bytes      []int
	operations experiment.Count
	address    string // by which ranks have met
}

// Check refuses what makes no sense.
func (f *figure1) Check() error {
	for _, n := range f.bytes {
		if n < 8 || n > maxFigureBytes || n%8 != 0 {
			return fmt.Errorf("--bytes must be a multiple of 8 and at most %d, not %d",
				maxFigureBytes, n)
		}
	}
	if err := experiment.InRange("ops", f.operations, 1, maxRecords); err != nil {
		return err
	}
	m, launched, err := launch.Detect()
	if err == nil && (!launched || m.Size != 2 || m.LocalSize > 1) {
		err = errors.New("ne figure1 needs a rank on each of two hosts: start it by farhash run " +
			"--rendezvous on both, with --nproc 1")
	}
	f.address = os.Getenv(launch.RendezvousVariable)
	return err
}

// Round measures everything once.
func (f *figure1) Round(ctx context.Context, job rma.Job, _ uint64, emit experiment.Emit) error {
	l, address, err := f.listen(ctx, job)
	if l != nil {
		defer l.Close()
	}
	for _, n := range f.bytes {
		if err == nil {
			err = f.oneSided(ctx, job, n, emit)
		}
	}
	for _, n := range f.bytes {
		if err == nil && job.Rank() == 0 {
			err = f.tcp(ctx, address, n, emit)
		}
	}
	if err != nil {
		return err
	}
	return job.Barrier(ctx)
}

// oneSided measures operations on so many bytes.
func (f *figure1) oneSided(ctx context.Context, job rma.Job, bytes int,
	emit experiment.Emit) error {
	w, err := measure.TouchedJob{Job: job}.NewWindow(ctx, rma.Spec{Name: "eval: memory",
		Words: segmentWords})
	if err != nil {
		return err
	}
	if job.Rank() == 0 {
		err = f.onWindow(ctx, job, w, bytes, emit)
	}
	if err == nil {
		err = job.Barrier(ctx)
	}
	return errors.Join(err, w.Close())
}

// onWindow is what rank 0 does.
func (f *figure1) onWindow(ctx context.Context, job rma.Job, w rma.Window, bytes int,
	emit experiment.Emit) error {
	q, err := job.NewQueue(1)
	if err != nil {
		return err
	}
	defer q.Close()
	buf, err := q.Alloc(bytes / 8)
	if err != nil {
		return err
	}
	for _, of := range []struct {
		op   string
		post func(off int) rma.Handle
	}{
		{"get", func(off int) rma.Handle { return q.Get(buf, w, owner, off) }},
		{"put", func(off int) rma.Handle { return q.Put(buf, w, owner, off) }},
		{"swap", func(off int) rma.Handle { return q.CompareAndSwap(w, owner, off, 1, 0) }},
	} {
		if of.op == "swap" && bytes > 8 {
			continue
		}
		err := f.timed(of.op, bytes, emit, func(i int) error {
			return measure.One(ctx, q, of.post(i*len(buf)%(segmentWords-len(buf)+1)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timed does an operation as often as asked, after some that are not counted.
func (f *figure1) timed(op string, bytes int, emit experiment.Emit, do func(i int) error) error {
	h := measure.NewHistogram()
	n := int(f.operations)
	for i := range n + n/10 {
		began := time.Now()
		if err := do(i); err != nil {
			return fmt.Errorf("%s of %d bytes: %w", op, bytes, err)
		}
		if i >= n/10 {
			measure.Add(h, time.Since(began), 1)
		}
	}
	emit(record.Record{Name: "Latency", N: n, Keys: []record.Key{record.K("bytes", bytes),
		record.K("op", op)}, Values: measure.Percentiles("each", h)})
	return nil
}

// listen has the owner answer messages, and returns where. Collective.
func (f *figure1) listen(ctx context.Context, job rma.Job) (l net.Listener, address string,
	err error) {
	if job.Rank() == owner {
		host := "127.0.0.1"
		if f.address != "" {
			host, err = measure.OwnAddress(f.address)
		}
		if err == nil {
			l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
		}
		if err == nil {
			address = l.Addr().String()
			go echo(l)
		}
	}
	if err := rma.AllSucceeded(ctx, job, "listening", err); err != nil {
		return l, "", err
	}
	all, err := measure.GatherTexts(ctx, job, []byte(address))
	if err != nil {
		return l, "", err
	}
	return l, string(all[owner]), nil
}

// echo answers the messages of one connection after the other by themselves. The first 8 bytes of
// a connection are the length of its messages.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // it is closed
		}
		var size [8]byte
		_, err = io.ReadFull(conn, size[:])
		message := make([]byte, min(binary.LittleEndian.Uint64(size[:]), maxFigureBytes))
		for err == nil {
			if _, err = io.ReadFull(conn, message); err == nil {
				_, err = conn.Write(message)
			}
		}
		_ = conn.Close() // the other side has, or says what is wrong
	}
}

// tcp measures messages of so many bytes and their answers.
func (f *figure1) tcp(ctx context.Context, address string, bytes int, emit experiment.Emit) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	message := binary.LittleEndian.AppendUint64(nil, uint64(bytes))
	if _, err := conn.Write(message); err != nil {
		return err
	}
	message = make([]byte, bytes)
	return f.timed("tcp", bytes, emit, func(int) error {
		_, err := conn.Write(message)
		if err == nil {
			_, err = io.ReadFull(conn, message)
		}
		return err
	})
}
