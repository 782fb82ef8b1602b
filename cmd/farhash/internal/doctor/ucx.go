package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/internal/core"
	"github.com/farhash/farhash/internal/ucxdevices"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/ucx"
)

// ucxTimeout bounds the process that tests UCX.
const ucxTimeout = 20 * time.Second

// ucxReport is what that process finds and prints.
type ucxReport struct {
	Survey   ucxdevices.Survey
	Coherent bool   // by the litmus test
	Failed   string // why two ranks did not work together
	// Choice is how a table with rma.Auto would access other hosts; "": unknown. Least is the
	// number of operations for a rank from which it would ship them, 0 for never.
	Choice string
	Least  int
	Costs  rma.AccessCosts
}

// transports are those that reach other hosts.
func (s *ucxReport) transports() []string {
	var names []string
	for _, d := range s.Survey.Devices {
		if d.OtherHosts() && !slices.Contains(names, d.Transport) {
			names = append(names, d.Transport)
		}
	}
	return names
}

// probeUCX reports what UCX finds here, and tests it. A process of its own does that: UCX reads its
// settings when a program starts, and some drivers end the process when they fail.
func probeUCX(ctx context.Context, here Machine) []Finding {
	f := Finding{Group: groupUCX, Name: "UCX", Level: OK}
	if !ucx.Built {
		f.Level, f.Message = Note, "not built in; only ranks on several hosts need it"
		f.Remedy = "CGO_ENABLED=1 go build -tags ucx ./cmd/farhash, with a C compiler, " +
			"pkg-config and libucx-dev"
		f.Values = map[string]any{"built": false}
		return []Finding{f}
	}
	settings := ucxSettings()
	f.Message = ucx.Library()
	if len(settings) > 0 {
		f.Message += ", with " + strings.Join(settings, " ")
	}
	f.Values = map[string]any{"built": true, "library": ucx.Library(), "settings": settings}
	s, err := startUCXProbe(ctx)
	if err != nil {
		f.Level, f.Message = Warning, fmt.Sprintf("%s: does not work: %v", f.Message, err)
		f.Remedy = "unset UCX_TLS and UCX_NET_DEVICES if they are set; UCX_LOG_LEVEL=info " +
			"farhash doctor --ucx-probe prints more"
		return []Finding{f}
	}
	return append([]Finding{f}, s.findings(here.Cards(), here.Ports())...)
}

// findings are those about UCX.
func (s *ucxReport) findings(cards []string, ports []Port) []Finding {
	all := []Finding{s.devices()}
	if f, found := s.idleCards(cards); found {
		all = append(all, f)
	}
	if f, found := s.unconnected(); found {
		all = append(all, f)
	}
	if f, found := s.dropped(ports, ucx.Library()); found {
		all = append(all, f)
	}
	if len(s.transports()) > 0 {
		all = append(all, s.atomics())
	}
	all = append(all, s.progress())
	if s.Choice != "" {
		all = append(all, s.batches())
	}
	all = append(all, lossLimit(farhash.SilenceLimit()))
	return append(all, s.ports(addressesOf), Finding{Group: groupUCX, Name: "encryption",
		Level:   Note,
		Message: "messages between ranks are neither encrypted nor signed",
		Remedy: "use a network that you trust; UCX_NET_DEVICES restricts UCX to one, such as a " +
			"tunnel wg0"})
}

// lossLimit reports for how long another host may be out of reach.
func lossLimit(limit time.Duration, err error) Finding {
	f := Finding{Group: groupUCX, Name: "lost ranks", Level: OK,
		Values: map[string]any{"silentSeconds": limit.Seconds()},
		Message: fmt.Sprintf("a rank of this host is lost when its process ends, one of another "+
			"host when that was out of reach for %v; farhash run --timeout-lost or %s sets that",
			limit, farhash.LostVariable)}
	if err != nil {
		f.Level, f.Message = Warning, err.Error()
	}
	return f
}

// devices reports what reaches other hosts.
func (s *ucxReport) devices() Finding {
	f := Finding{Group: groupUCX, Name: "to other hosts", Level: OK,
		Values: map[string]any{"devices": s.Survey.Devices, "transports": s.transports()}}
	var reaching []string
	for _, d := range s.Survey.Devices {
		if !d.OtherHosts() {
			continue
		}
		reaching = append(reaching, d.Transport+" on "+d.Name)
	}
	f.Message = strings.Join(reaching, ", ")
	if len(reaching) == 0 {
		f.Level, f.Message = Warning, "no device that UCX may use here reaches other hosts"
		f.Remedy = "bring up a network device (ip link, ip addr), and unset UCX_TLS and " +
			"UCX_NET_DEVICES or name it there"
	}
	return f
}

// atomics reports whether the atomics of the network are coherent with the processor's.
func (s *ucxReport) atomics() Finding {
	over := strings.Join(s.transports(), ", ")
	f := Finding{Group: groupUCX, Name: "atomics", Level: OK,
		Values: map[string]any{"coherent": s.Coherent, "works": s.Failed == "",
			"emulated": s.emulated()}}
	switch {
	case s.Failed != "":
		f.Level, f.Message = Warning, fmt.Sprintf("two ranks of this host fail over "+
			"%s: %s", over, s.Failed)
		f.Remedy = "UCX_TLS=tcp disables other transports; UCX_LOG_LEVEL=info farhash doctor " +
			"--ucx-probe prints more"
	case s.Coherent:
		f.Message = fmt.Sprintf("atomics of %s are coherent with the processor's, between "+
			"two ranks of this host (litmus test); each job repeats the test between its hosts",
			over)
		if cards := s.emulated(); len(cards) > 0 {
			f.Level = Note
			f.Message += "; UCX has the target's processor do them, by messages, although there " +
				"are some of " + strings.Join(cards, ", ")
			f.Remedy = "leave a processor free for the thread of each rank; UCX uses the ones of " +
				"devices that have add, and, or, xor, swap and compare-and-swap, such as mlx5"
		}
	default:
		f.Level, f.Message = Note, fmt.Sprintf("atomics of %s are not coherent with "+
			"the processor's (litmus test), so all go through UCX, also within a host; results "+
			"are correct all the same", over)
		f.Remedy = "compare with UCX_TLS=tcp, where the processor executes them all"
	}
	return f
}

// progress reports whether a rank that computes serves the others.
func (s *ucxReport) progress() Finding {
	f := Finding{Group: groupUCX, Name: "progress", Level: OK,
		Message: "UCX signals events, so a thread of each rank sleeps until requests arrive",
		Values:  map[string]any{"events": s.Survey.Events}}
	if !s.Survey.Events {
		f.Level, f.Message = Warning, "UCX signals no events, so ranks that compute "+
			"answer requests after up to 100 ms"
		f.Remedy = "use other transports: UCX_TLS=tcp,self"
	}
	return f
}

// batches reports how tables access other hosts by default.
func (s *ucxReport) batches() Finding {
	return Finding{Group: groupUCX, Name: "batches", Level: OK,
		Message: "with rma.Auto, by costs measured between two ranks of this host: " + s.Choice,
		Values: map[string]any{"choice": s.Choice, "least": s.Least, "getNs": s.Costs.Ns,
			"getByteNs": s.Costs.ByteNs, "getEachNs": s.Costs.EachNs,
			"getEachByteNs": s.Costs.EachByteNs, "requestNs": s.Costs.RequestNs,
			"wordNs": s.Costs.WordNs}}
}

// ucxSettings are the environment variables that change what UCX does.
func ucxSettings() []string {
	settings := []string{}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "UCX_") {
			settings = append(settings, v)
		}
	}
	slices.Sort(settings)
	return settings
}

// startUCXProbe starts this program again to test UCX.
func startUCXProbe(ctx context.Context) (*ucxReport, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ucxTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "doctor", "--ucx-probe")
	cmd.Env = append([]string{"UCX_LOG_FILE=stderr", "UCX_WARN_UNUSED_ENV_VARS=n"},
		os.Environ()...) // the last value of a variable counts
	cmd.WaitDelay = time.Second
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it does not end within %v", ucxTimeout)
	}
	s, lines := lastReport(out.Bytes()), ucxLines(complaints.String())
	var exit *exec.ExitError
	switch {
	case err == nil && s != nil:
		return s, nil
	case errors.As(err, &exit) && exit.Exited() && lines != "":
		err = errors.New(lines)
	case lines != "":
		err = fmt.Errorf("%w; its errors: %q", cmp.Or(err, errReportsNothing), lines)
	default:
		err = cmp.Or(err, errReportsNothing)
	}
	if s != nil {
		s.Failed = err.Error()
		return s, nil
	}
	return nil, err
}

var errReportsNothing = errors.New("it reports nothing")

// lastReport is the last report that the process has printed whole; nil: none.
func lastReport(out []byte) (s *ucxReport) {
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		next := new(ucxReport)
		if d.Decode(next) != nil {
			return s
		}
		s = next
	}
}

// ucxLines are the errors of a process, without what UCX writes before its messages: time, host and
// line of its source.
func ucxLines(complaints string) string {
	var lines []string
	for line := range strings.Lines(complaints) {
		for _, level := range []string{"UCX  WARN", "UCX  ERROR", "UCX  FATAL"} {
			if _, message, found := strings.Cut(line, level); found {
				line = message
			}
		}
		if line = strings.TrimSpace(strings.TrimPrefix(line, "farhash: ")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-8):], "; ")
}

// examineUCX is that process. It prints what there is before it tests two ranks, which may fail to
// end, and then all.
func examineUCX(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, ucxTimeout*3/4)
	defer cancel()
	look, err := ucx.Examine()
	if err != nil {
		return err
	}
	s := ucxReport{Survey: look}
	if err := json.NewEncoder(out).Encode(s); err != nil {
		return err
	}
	if over := s.transports(); len(over) > 0 {
		err = ucx.Loopback(ctx, strings.Join(append(over, "self"), ","),
			func(job rma.Job) error { return s.test(ctx, job) })
		if err != nil {
			s.Failed = err.Error()
		}
	}
	return json.NewEncoder(out).Encode(s)
}

// test runs on each of two ranks. Rank 0 stores the results.
func (s *ucxReport) test(ctx context.Context, job rma.Job) error {
	window, err := job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: 1 << 10})
	if err != nil {
		return err
	}
	nothing := func(uint32, int, []uint64, []uint64) (int, error) { return 0, nil }
	var b core.Batches
	if err := b.Open(ctx, job, window, core.Config{Messages: 1, Answer: nothing}); err != nil {
		return err
	}
	if job.Rank() == 0 {
		s.Coherent = window.CPUAtomicsCoherent()
		if c := b.Access(); c != (rma.AccessChoice{}) {
			s.Choice, s.Costs = c.String(), c.Costs
			if c.MinBatch < math.MaxInt {
				s.Least = c.MinBatch
			}
		}
	}
	return errors.Join(job.Barrier(ctx), b.Close(), window.Close())
}
