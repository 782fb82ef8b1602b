package explore

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/internal/testkit/replay"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri"
	"github.com/farhash/farhash/statespace/petri/packing"
	"github.com/farhash/farhash/statespace/petri/property"
)

// asks are questions about philosophers: the first search answers the second one and the last one,
// and reductions the others.
var asks = []string{
	"--always", "not (tokens(Eat_1) = 1 and tokens(Eat_2) = 1)",
	"--sometimes", "tokens(Eat_1) = 1",
	"--sometimes", "tokens(Eat_2) = 1 and tokens(Eat_3) = 1",
	"--bound", "tokens(Eat_1)"}

// TestReduced: what reduced nets answer has the size of these, and no counts.
func TestReduced(t *testing.T) {
	args := append([]string{"explore", try.Net(t, "philosophers", 40), "-q", "-n", "2"}, asks...)
	run := func(more ...string) string {
		t.Helper()
		c := try.Run(t, append(args, more...)...)
		if c.Code() != 0 {
			t.Errorf("exit code %d: %s", c.Code(), &c.Errors)
		}
		return c.Out.String()
	}
	text := run()
	for _, part := range []string{"Philosophers-40: 200 places, 200 transitions always",
		"Eat_2) = 1) true reduced to ", "Eat_3) = 1 false reduced to ",
		"bound tokens(Eat_1)"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	if text := run("--mcc"); strings.Count(text, " STRUCTURAL_REDUCTION\n") != 2 ||
		strings.Count(text, "FORMULA ") != 4 {
		t.Error(text)
	}
	var a answer
	if err := json.Unmarshal([]byte(run("--json", "--trace", "witness")), &a); err != nil {
		t.Fatal(err)
	}
	if a.States != nil || a.Engine != engineReduced || !a.decided() || len(a.Properties) != 4 ||
		len(a.Traces) != 2 || a.Traces[0].Property != a.Properties[1].Name || a.Trace == nil {
		t.Errorf("%+v", a)
	}
	for i, p := range a.Properties {
		if reduced := i%2 == 0; (p.Reduced != nil) != reduced ||
			reduced && p.Reduced.Transitions >= 200 {
			t.Errorf("%+v", p)
		}
	}
	if text := run("--reduce=no"); strings.Contains(text, "reduced") ||
		!strings.Contains(text, "\nstates ") {
		t.Error(text)
	}
	try.Here(t, "explore", "net.pnml", "--reduce=maybe").Has(t, cli.ExitUsage,
		"--reduce must be yes or no")
}

// TestReducible: nets are reduced if no flag asks for what needs the given net.
func TestReducible(t *testing.T) {
	given := exploreFlags{reduce: "yes", engine: engineAuto, walk: 10}
	for i, c := range []struct {
		change func(f *exploreFlags)
		flag   string // that is given
		want   bool
	}{
		{func(*exploreFlags) {}, "", true},
		{func(f *exploreFlags) { f.trace = "witness" }, "trace", true},
		{func(f *exploreFlags) { f.walk = 0 }, "walk", true},
		{func(f *exploreFlags) { f.trace, f.walk = "witness", 0 }, "trace", false},
		{func(f *exploreFlags) { f.trace = "deadlock" }, "trace", false},
		{func(f *exploreFlags) { f.reduce = "no" }, "reduce", false},
		{func(f *exploreFlags) { f.engine = engineExplicit }, "engine", false},
		{func(*exploreFlags) {}, "max-depth", false},
	} {
		f := given
		c.change(&f)
		if got := f.reducible(func(flag string) bool { return flag == c.flag }); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
	f := exploreFlags{reduces: true}
	opts := explore.Options{Mem: 1 << 30}
	ask := []property.Property{{Kind: property.Live}, {Kind: property.Bound}}
	if !f.mayReduce(opts, ask) || f.mayReduce(opts, ask[:1]) ||
		f.mayReduce(explore.Options{Mem: 64 << 20}, ask) {
		t.Error("reductions of properties, or in little memory")
	}
}

// TestEfforts: efforts give the answers of a search, and traces that show them.
func TestEfforts(t *testing.T) {
	seeds, answered, traced := 0, 0, 0
	replay.Seeds(t, uint64(replay.Often(20, 400)), func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		seeds++
		n := naive.RandomNet(rng, 3+rng.IntN(4), 2+rng.IntN(4))
		if res, err := naive.Explore(n, 300); err != nil || !res.Complete {
			return
		}
		all := questionsOf(t, n)
		f := exploreFlags{trace: "witness", ranks: 2, quiet: true, json: cli.JSONObject}
		f.known = newKnown(all)
		q, err := f.ask(n, explore.Options{Mem: 1 << 30, Order: explore.BreadthFirst,
			TraceEach: true, Walk: .1}, all)
		if err != nil {
			t.Fatal(err)
		}
		e := effort{1 + rng.Uint64N(6), .1, 16 << 20, time.Minute}
		if err := q.try(t.Context(), e, 2, f.stream(n, len(all))); err != nil {
			t.Fatal(err)
		}
		want := searched(t, n, all)
		for i, p := range all {
			got, ok := f.known.answers[p.Name]
			if !ok {
				continue
			}
			answered++
			if string(got.Answer) != string(newPropertyAnswer(n, want[i]).Answer) {
				t.Errorf("%s is %s, and not %+v", p.Name, got.Answer, want[i])
			}
			if trace, ok := f.known.traces[p.Name]; ok {
				traced++
				if err := n.FireAll(n.Initial(), trace.numbers); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if seeds > 4 && (answered < 20 || traced < 10) {
		t.Errorf("%d answers, %d traces", answered, traced)
	}
}

// TestKnown: what is known and what a search finds last are one answer, in the order of the
// questions, which is printed once.
func TestKnown(t *testing.T) {
	all := []property.Property{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	yes, no := json.RawMessage("true"), json.RawMessage("null")
	k := newKnown(all)
	k.learn(propertyAnswer{Name: "b", Answer: yes}, nil)
	k.learn(propertyAnswer{Name: "b", Answer: yes}, &netTrace{Firings: []string{"t"}})
	if open := k.open(all); len(open) != 2 || open[1].Name != "c" {
		t.Errorf("open: %v", open)
	}
	incomplete := &cli.ExitError{Code: cli.ExitIncomplete}
	lost := &cli.ExitError{Code: cli.ExitLost}
	if k.exit(incomplete) == nil {
		t.Error("all is known before it is")
	}
	late := answer{Reason: string(explore.MemoryFull), NeedMem: 1, Properties: []propertyAnswer{
		{Name: "a", Answer: yes}, {Name: "c", Answer: no}}}
	cut := late
	if k.addTo(&cut); len(cut.Properties) != 3 || cut.Properties[1].Name != "b" ||
		cut.Reason != late.Reason || len(cut.Traces) != 1 || cut.Traces[0].Property != "b" {
		t.Errorf("%+v", cut)
	}
	select {
	case <-k.all:
		t.Error("c is not known")
	default:
	}
	k.learn(propertyAnswer{Name: "c", Answer: yes}, nil)
	if <-k.all; k.exit(incomplete) != nil || k.exit(lost) != lost {
		t.Error("all is known")
	}
	if !k.completes(&late) || !late.decided() || late.NeedMem != 0 ||
		slices.ContainsFunc(late.Properties, unknown) {
		t.Errorf("%+v", late)
	}
	over := make(chan struct{})
	close(over)
	k.done, k.over = make(chan struct{}), over // it does not wait when time is over
	if k.completes(&cut) {
		t.Error("a second answer")
	}
	if !errors.Is(k.exit(errors.ErrUnsupported), errors.ErrUnsupported) {
		t.Error("an error is gone")
	}
}

// searched are the answers of a search.
func searched(t *testing.T, n *petri.Net, asked []property.Property) (all []property.Answer) {
	t.Helper()
	err := local.Run(1, func(job rma.Job) error {
		res, p, err := packing.NewSearch(n, asked...).Run(t.Context(), job, explore.Options{})
		if err == nil {
			all = p.Answers(res)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSort: questions with small nets come first, and those without leave.
func TestSort(t *testing.T) {
	n, err := petri.Family("philosophers", 40)
	if err != nil {
		t.Fatal(err)
	}
	var all []property.Property
	for _, text := range []string{"tokens(Eat_1, Eat_2, Eat_3) >= 2", "tokens(Eat_1, Eat_2) >= 2"} {
		p, err := property.Parse(n, "sometimes", text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	all = append(all, property.Property{Kind: property.Live})
	q := &questions{net: n}
	for i := range all {
		q.all = append(q.all, &smaller{property: &all[i]})
		q.all[i].begin(n)
	}
	if q.sort(); len(q.all) != 2 || q.all[0].property != &all[1] {
		t.Errorf("%d questions, the first has %d transitions", len(q.all),
			len(q.all[0].Net.Transitions))
	}
}

// questionsOf are three questions about each place of a net.
func questionsOf(t *testing.T, n *petri.Net) []property.Property {
	t.Helper()
	var all []property.Property
	for place := range n.Places {
		sum := property.Sum{Terms: []property.Term{{Place: place, Weight: 1}}}
		id := n.Places[place].ID
		bound := property.Property{Kind: property.Bound, Sum: sum, Name: "bound " + id}
		all = append(all, bound)
		for _, word := range []string{"always", "sometimes"} {
			p, err := property.Parse(n, word, "tokens("+id+") <= 1 or enabled(t0)")
			if err != nil {
				t.Fatal(err)
			}
			p.Name = word + id
			all = append(all, p)
		}
	}
	return all
}

// TestBeside: the answers are the same whatever answers first, a reduced net or the search beside
// it, and each is printed once.
func TestBeside(t *testing.T) {
	few, first, later := fewBefore, firstEffort, laterEfforts
	defer func() { fewBefore, firstEffort, laterEfforts = few, first, later }()
	seeds, answered := 0, 0
	replay.Seeds(t, uint64(replay.Often(30, 300)), func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 5))
		seeds++
		fewBefore, firstEffort = 1+rng.Uint64N(3), effort{1, 0, 1 << 20, 1}
		laterEfforts = []effort{{1 + rng.Uint64N(9), .1, 4 << 20, time.Minute},
			{1 << 12, .1, 4 << 20, time.Minute}}
		n := naive.RandomNet(rng, 3+rng.IntN(4), 2+rng.IntN(4))
		if res, err := naive.Explore(n, 300); err != nil || !res.Complete {
			return
		}
		all := questionsOf(t, n)
		f := exploreFlags{engine: engineExplicit, json: cli.JSONLines, ranks: 1, direct: true,
			quiet: true, trace: []string{"", "witness"}[rng.IntN(2)]}
		opts := explore.Options{Mem: 1 << 30, Order: explore.BreadthFirst, TraceEach: true}
		lines := strings.Split(strings.TrimSpace(printedBy(t, func() error {
			return f.exploreReduced(t.Context(), n, opts, all)
		})), "\n")
		if len(lines) != len(all)+1 {
			t.Fatalf("%d lines for %d questions", len(lines), len(all))
		}
		var a answer
		if err := json.Unmarshal([]byte(lines[len(all)]), &a); err != nil {
			t.Fatal(err)
		}
		for i, want := range searched(t, n, all) {
			p := a.Properties[i]
			answered++
			if string(p.Answer) != string(newPropertyAnswer(n, want).Answer) {
				t.Errorf("%+v, and not %+v", p, want)
			}
		}
	})
	if seeds > 7 && answered < 5*seeds {
		t.Errorf("%d answers with %d seeds", answered, seeds)
	}
}

// printedBy is what a function prints.
func printedBy(t *testing.T, print func() error) string {
	t.Helper()
	path := try.File(t, "out", "")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	err = print()
	os.Stdout = stdout
	text, readErr := os.ReadFile(path)
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	return string(text)
}
