package main

import (
	"bytes"
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

	"github.com/farhash/farhash/internal/doctor"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/ucx"
	"github.com/farhash/farhash/ship"
)

// ucxTimeout bounds the process that looks at UCX.
const ucxTimeout = 20 * time.Second

// ucxSight is what that process finds: it prints this.
type ucxSight struct {
	Look     ucx.Survey
	Coherent bool   // what the litmus test says
	Failed   string // why two ranks did not work together
	// Choice is how ship.Auto would have a table reach other hosts; "": unknown. Least is from how
	// many operations for a rank on it would ship them, 0 for never.
	Choice string
	Least  int
	Costs  ship.Costs
}

// transports are those that reach other hosts.
func (s *ucxSight) transports() []string {
	var names []string
	for _, d := range s.Look.Devices {
		if d.OtherHosts() && !slices.Contains(names, d.Transport) {
			names = append(names, d.Transport)
		}
	}
	return names
}

// probeUCX tells what UCX sees here, and tries it out. A process of its own does that: UCX reads
// its settings when a program starts, and some drivers end those that they fail.
func probeUCX(ctx context.Context, cards []string) []doctor.Finding {
	f := doctor.Finding{Group: groupUCX, Name: "UCX", Level: doctor.OK}
	if !ucx.Built {
		f.Level, f.Says = doctor.Note, "not built in, which only ranks on several hosts need"
		f.Remedy = "CGO_ENABLED=1 go build -tags ucx ./cmd/farhash, with a C compiler, " +
			"pkg-config and libucx-dev"
		f.Values = map[string]any{"built": false}
		return []doctor.Finding{f}
	}
	settings := ucxSettings()
	f.Says = ucx.Library()
	if len(settings) > 0 {
		f.Says += ", with " + strings.Join(settings, " ")
	}
	f.Values = map[string]any{"built": true, "library": ucx.Library(), "settings": settings}
	s, err := startUCXLook(ctx)
	if err != nil {
		f.Level, f.Says = doctor.Warning, fmt.Sprintf("%s: does not work: %v", f.Says, err)
		f.Remedy = "unset UCX_TLS and UCX_NET_DEVICES if they are set; UCX_LOG_LEVEL=info " +
			"farhash doctor --ucx-look tells more"
		return []doctor.Finding{f}
	}
	return append([]doctor.Finding{f}, s.findings(cards)...)
}

// findings tells of what UCX has found.
func (s *ucxSight) findings(cards []string) []doctor.Finding {
	all := []doctor.Finding{s.devices()}
	if f, found := s.idleCards(cards); found {
		all = append(all, f)
	}
	if len(s.transports()) > 0 {
		all = append(all, s.atomics())
	}
	all = append(all, s.progress())
	if s.Choice != "" {
		all = append(all, s.batches())
	}
	return append(all, s.ports(addressesOf), doctor.Finding{Group: groupUCX, Name: "encryption",
		Level: doctor.Note,
		Says:  "what ranks say to each other is neither encrypted nor signed",
		Remedy: "use a network that you trust; UCX_NET_DEVICES restricts UCX to one, which may " +
			"be a tunnel such as wg0"})
}

// devices tells what reaches other hosts.
func (s *ucxSight) devices() doctor.Finding {
	f := doctor.Finding{Group: groupUCX, Name: "to other hosts", Level: doctor.OK,
		Values: map[string]any{"devices": s.Look.Devices, "transports": s.transports()}}
	var says []string
	for _, d := range s.Look.Devices {
		if !d.OtherHosts() {
			continue
		}
		says = append(says, d.Transport+" on "+d.Name)
	}
	f.Says = strings.Join(says, ", ")
	if len(says) == 0 {
		f.Level, f.Says = doctor.Warning, "nothing that UCX may use here reaches other hosts"
		f.Remedy = "bring up a network device (ip link, ip addr), and unset UCX_TLS and " +
			"UCX_NET_DEVICES or name it there"
	}
	return f
}

// idleCards tells of cards that UCX makes nothing of.
func (s *ucxSight) idleCards(cards []string) (doctor.Finding, bool) {
	var idle []string
	for _, card := range cards {
		if !slices.ContainsFunc(s.Look.Devices, func(d ucx.Device) bool {
			return d.OtherHosts() && strings.HasPrefix(d.Name, card+":")
		}) {
			idle = append(idle, card)
		}
	}
	return doctor.Finding{Group: groupUCX, Name: "cards", Level: doctor.Warning,
		Says: strings.Join(idle, ", ") + ": UCX does not reach what would be faster than TCP",
		Remedy: "install ibverbs-providers and rdma-core; see locked memory above; the user " +
			"needs /dev/infiniband (docker run --device); unset UCX_TLS and UCX_NET_DEVICES",
		Values: map[string]any{"idle": idle}}, len(idle) > 0
}

// atomics tells whether those of the network agree with the processor's.
func (s *ucxSight) atomics() doctor.Finding {
	over := strings.Join(s.transports(), ", ")
	f := doctor.Finding{Group: groupUCX, Name: "atomics", Level: doctor.OK,
		Values: map[string]any{"coherent": s.Coherent, "works": s.Failed == ""}}
	switch {
	case s.Failed != "":
		f.Level, f.Says = doctor.Warning, fmt.Sprintf("two ranks of this host do not work "+
			"together over %s: %s", over, s.Failed)
		f.Remedy = "UCX_TLS=tcp to do without other transports; UCX_LOG_LEVEL=info farhash " +
			"doctor --ucx-look tells more"
	case s.Coherent:
		f.Says = fmt.Sprintf("those of %s agree with the processor's between two ranks of this "+
			"host (litmus test); each job tests it anew between its hosts", over)
	default:
		f.Level, f.Says = doctor.Note, fmt.Sprintf("those of %s do not agree with the "+
			"processor's (litmus test), so all go through UCX, also within a host; answers are "+
			"right all the same", over)
		f.Remedy = "compare with UCX_TLS=tcp, where the processor does them all"
	}
	return f
}

// progress tells whether a rank that computes serves the others.
func (s *ucxSight) progress() doctor.Finding {
	f := doctor.Finding{Group: groupUCX, Name: "progress", Level: doctor.OK,
		Says:   "UCX tells of events, so a thread of each rank sleeps until others need it",
		Values: map[string]any{"events": s.Look.Events}}
	if !s.Look.Events {
		f.Level, f.Says = doctor.Warning, "UCX tells of no events, so ranks that compute answer "+
			"others after a tenth of a second only"
		f.Remedy = "take other transports: UCX_TLS=tcp,self"
	}
	return f
}

// batches tells how tables reach other hosts by themselves.
func (s *ucxSight) batches() doctor.Finding {
	return doctor.Finding{Group: groupUCX, Name: "batches", Level: doctor.OK,
		Says: "left to ship.Auto and measured between two ranks of this host: " + s.Choice,
		Values: map[string]any{"choice": s.Choice, "least": s.Least, "getNs": s.Costs.GetNs,
			"getEachNs": s.Costs.GetEachNs, "requestNs": s.Costs.RequestNs,
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

// startUCXLook starts this program again to look at UCX.
func startUCXLook(ctx context.Context) (*ucxSight, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ucxTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "doctor", "--ucx-look")
	cmd.Env = append([]string{"UCX_LOG_FILE=stderr", "UCX_WARN_UNUSED_ENV_VARS=n"},
		os.Environ()...) // what is set comes later, and so first
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it does not end within %v", ucxTimeout)
	}
	s := new(ucxSight)
	if err == nil {
		err = json.Unmarshal(out.Bytes(), s)
	}
	var exit *exec.ExitError
	switch lines := ucxLines(said.String()); {
	case err == nil:
		return s, nil
	case errors.As(err, &exit) && exit.Exited() && lines != "":
		return nil, errors.New(lines)
	default:
		return nil, fmt.Errorf("%w; it said: %q", err, lines)
	}
}

// ucxLines is what a process has said, without what UCX writes before its messages: when,
// where and in which line of its source.
func ucxLines(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
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

// lookAtUCX is that process.
func lookAtUCX(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, ucxTimeout*3/4)
	defer cancel()
	look, err := ucx.Examine()
	if err != nil {
		return err
	}
	s := ucxSight{Look: look}
	if over := s.transports(); len(over) > 0 {
		err = ucx.Loopback(ctx, strings.Join(append(over, "self"), ","),
			func(job rma.Job) error { return s.tryOut(ctx, job) })
		if err != nil {
			s.Failed = err.Error()
		}
	}
	return json.NewEncoder(out).Encode(s)
}

// tryOut is what each of two ranks does. Rank 0 notes what comes of it.
func (s *ucxSight) tryOut(ctx context.Context, job rma.Job) error {
	window, err := job.NewWindow(ctx, rma.Spec{Name: "doctor", Words: 1 << 10})
	if err != nil {
		return err
	}
	nothing := func(uint32, int, []uint64, []uint64) (int, error) { return 0, nil }
	line, err := ship.Open(ctx, job, window, ship.Config{Trips: 1, Answer: nothing})
	if err != nil {
		return err
	}
	if job.Rank() == 0 {
		s.Coherent = window.Caps().CPUAtomicsCoherent
		if line != nil {
			c := line.Choice()
			s.Choice, s.Costs = c.String(), c.Costs
			if c.Least < math.MaxInt {
				s.Least = c.Least
			}
		}
	}
	return errors.Join(job.Barrier(ctx), line.Close(), window.Close())
}
