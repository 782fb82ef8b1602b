package explore

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/invariant"
	"github.com/farhash/farhash/statespace/petri"
)

func TestExploreUsage(t *testing.T) {
	path := family(t, "dekker", "2")
	for _, c := range []struct {
		message string
		flags   []string
	}{
		{"unknown flag: --depth", []string{"--depth"}},
		{"unknown flag: --engin; did you mean --engine?", []string{"--engin", "auto"}},
		{`--order must be bfs or any, not "dfs"`, []string{"--order", "dfs"}},
		{`--encoding must be word, tree, element or fingerprint, not "bits"`,
			[]string{"--encoding", "bits"}},
		{"--mcc and --encoding fingerprint exclude each other",
			[]string{"--encoding", "fingerprint", "--mcc"}},
		{`--access must be auto, one-sided or shipped, not "far"`, []string{"--access", "far"}},
		{`--trace must be deadlock or witness, not "all"`, []string{"--trace", "all"}},
		{"--max-depth needs --order bfs", []string{"--max-depth", "3", "--order", "any"}},
		{"--max-states is at least 1", []string{"--max-states", "0"}},
		{"--max-states must be a whole number", []string{"--max-states", "many"}},
		{"--json and --mcc exclude each other", []string{"--json", "--mcc"}},
		{"-n must be 1 to 4096, not 0", []string{"-n", "0"}},
		{"-n must be 1 to 4096, not -1", []string{"-n", "-1"}},
		{"-n must be 1 to 4096, not 4097", []string{"-n", "4097"}},
		{`-n, --ranks must be a whole number, not "two"`, []string{"-n", "two"}},
		{"--mem needs a value: SIZE of the memory", []string{"--mem"}},
		{"--every must be a time such as 90s", []string{"--every", "often"}},
		{"--json must be object or lines", []string{"--json=perhaps"}},
		{"--trace is given twice", []string{"--trace", "deadlock", "--trace=witness"}},
		{"Liveness needs --order bfs", []string{"--examination", "Liveness", "--order", "any"}},
		{`--mem "0" is no size`, []string{"--mem", "0"}},
		{`--mem "-5" is no size`, []string{"--mem", "-5"}},
		{`--mem "NaN" is no size`, []string{"--mem", "NaN"}},
		{`--mem "lots" is no size`, []string{"--mem", "lots"}},
		{`--mem "99999999999TB" is no size`, []string{"--mem", "99999999999TB"}},
		{"takes one FILE, but also", []string{path}},
	} {
		try.Fails(t, 2, c.message, append([]string{"explore", path}, c.flags...)...)
	}
	try.Fails(t, 2, "FILE is missing: the net to explore", "explore")
	try.Fails(t, 2, `unknown command "exlpore"`, "exlpore")
	try.Fails(t, 2, "--order must be", try.Launched(t, "2", "explore", path, "--order", "dfs")...)
}

func TestExploreBadFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.pnml")
	try.Fails(t, 1, missing, "explore", missing)
	try.Fails(t, 1, missing, try.Launched(t, "2", "explore", missing)...)
	try.Fails(t, 1, "is a folder; name one net in it", "explore", t.TempDir())
	try.Fails(t, 1, "line 1", "explore", os.DevNull)
	try.Fails(t, 1, "--resume "+missing+": no such file", "explore", os.DevNull, "--resume",
		missing)
	broken := try.File(t, "broken.pnml",
		"<pnml>\n<net id=\"n\">\n<place id=\"p\"/>\n</nets>\n</pnml>\n")
	try.Fails(t, 1, "broken.pnml: line 4", "explore", broken)
	coloured := try.File(t, "coloured.pnml", "<pnml>\n<net id=\"n\" "+
		"type=\"http://www.pnml.org/version-2009/grammar/symmetricnet\"/>\n</pnml>\n")
	try.Fails(t, 1, "coloured.pnml: line 2", "explore", coloured)
	try.Fails(t, 1, "1 B of memory is too little, as program, net and model alone come to",
		"explore", family(t, "dekker", "2"), "--mem", "1", "-q")
	c := try.Run(t, "explore", family(t, "dekker", "10"), "--encoding", "word", "-n", "1")
	if c.Code() != 0 {
		t.Errorf("word: %s", &c.Errors)
	}
	try.Fails(t, 1, "a word holds 63", "explore", family(t, "dekker", "70"), "--encoding", "word")
}

// Memory that does not suffice: an answer that is marked, and a size to ask for.
func TestExploreMemoryFull(t *testing.T) {
	// Two independent counters: a million markings, with two arcs each.
	n := &petri.Net{Name: "grid"}
	for i, id := range []string{"a", "b", "c", "d"} {
		n.Places = append(n.Places, petri.Place{ID: id, Name: id, Initial: int64(1-i%2) * 1000})
	}
	for i, id := range []string{"t", "u"} {
		n.Transitions = append(n.Transitions, petri.Transition{ID: id, Name: id,
			In: arcTo(2*i, 1), Out: arcTo(2*i+1, 1)})
	}
	path := try.WriteNet(t, n)
	flags := []string{"explore", path}
	ways := [][]string{append(flags, "-n", "3"), try.Launched(t, "2", flags...)}
	if invariant.Enabled {
		ways = ways[:1]
	}
	for _, args := range ways {
		least := minMem(t, args...)
		args = append(args, "--mem", least)
		c := try.Run(t, append(args, "--json")...)
		o := try.Object(t, c)
		if c.Code() != 3 || o["complete"] != false || o["reason"] != "memory full" ||
			o["needMem"].(float64) <= 8<<20 || o["states"].(float64) < 1e5 {
			t.Errorf("%q: exit code %d: %v", args, c.Code(), o)
		}
		c = try.Run(t, append(args, "--trace", "deadlock")...)
		for _, want := range []string{"so far: INCOMPLETE\n",
			"INCOMPLETE: memory full: " + least[:len(least)-3] + " MiB is not enough; try ",
			"no deadlock was found so far\n"} {
			if c.Code() != 3 || !strings.Contains(c.Out.String(), want) {
				t.Errorf("%q: exit code %d, %q is not in:\n%s", args, c.Code(), want, &c.Out)
			}
		}
		c = try.Run(t, append(args, "--mcc")...)
		if c.Code() != 3 || c.Out.String() != "CANNOT_COMPUTE\n" {
			t.Errorf("%q --mcc: exit code %d, %s", args, c.Code(), &c.Out)
		}
	}
}

// minMem is a tenth more than the memory that a command reports to need: what the
// program itself takes differs from run to run.
func minMem(t *testing.T, args ...string) string {
	t.Helper()
	c := try.Run(t, append(slices.Clone(args), "--mem", "1", "-q")...)
	_, least, _ := strings.Cut(c.Errors.String(), "give at least ")
	least, _, _ = strings.Cut(least, " MiB\n")
	mebibytes, err := strconv.ParseFloat(least, 64)
	if c.Code() != 1 || err != nil {
		t.Fatalf("%q: exit code %d: %s", args, c.Code(), &c.Errors)
	}
	return fmt.Sprintf("%.1fMiB", 1.1*mebibytes)
}

func arcTo(place int, weight int64) []petri.Arc {
	return []petri.Arc{{Place: place, Weight: weight}}
}

// Nets without end use up what they may, and do not hang.
func TestExploreUnbounded(t *testing.T) {
	if invariant.Enabled {
		t.Skip("what the program itself takes differs much from run to run with the race detector")
	}
	place := func(id string) petri.Place { return petri.Place{ID: id, Name: id} }
	source := try.WriteNet(t, &petri.Net{Name: "source",
		Places: []petri.Place{place("p"), place("q")},
		Transitions: []petri.Transition{{ID: "t", Name: "t", Out: arcTo(0, 1)},
			{ID: "u", Name: "u", Out: arcTo(1, 1)}}})
	const many = "1000000000000"
	for _, args := range [][]string{{"explore", source, "--max-states", many},
		try.Launched(t, "2", "explore", source, "--max-states", many)} {
		c := try.Run(t, append(args, "--mem", minMem(t, args...), "--json")...)
		if o := try.Object(t, c); c.Code() != 3 || o["complete"] != false {
			t.Errorf("%q: exit code %d: %v", args, c.Code(), o)
		}
	}
	heavy := try.WriteNet(t, &petri.Net{Name: "heavy", Places: []petri.Place{place("p")},
		Transitions: []petri.Transition{{ID: "t", Name: "t", Out: arcTo(0, math.MaxInt32+1)}}})
	c := try.Run(t, "explore", heavy, "-n", "4", "--max-states", many)
	if c.Code() != 1 || strings.Contains(c.Errors.String(), "rank") ||
		!strings.Contains(c.Errors.String(), "p") || c.Out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", c.Code(), &c.Out, &c.Errors)
	}
}

func TestPetri(t *testing.T) {
	for _, f := range []struct {
		name, size                string
		states, arcs, transitions float64
	}{
		{"philosophers", "6", 729, 3402, 30},
		{"rwmutex", "5", 37, 170, 20},
		{"referendum", "5", 244, 811, 11},
		{"dekker", "4", 48, 260, 24},
	} {
		c := try.Run(t, "petri", f.name, "-n", f.size)
		if c.Code() != 0 || c.Errors.Len() > 0 {
			t.Fatalf("%s: %s", f.name, &c.Errors)
		}
		path := family(t, f.name, f.size)
		if text, err := os.ReadFile(path); err != nil || string(text) != c.Out.String() {
			t.Errorf("%s: a file has other text than standard output: %v", f.name, err)
		}
		o := exploreJSON(t, "explore", path, "--json", "-n", "2")
		if o["states"] != f.states || o["arcs"] != f.arcs || o["transitions"] != f.transitions {
			t.Errorf("%s: %v", f.name, o)
		}
	}
}

func TestPetriFails(t *testing.T) {
	try.Fails(t, 2, "the number of processes is 0", "petri", "dekker", "-n", "0")
	try.Fails(t, 2, "philosophers is 1", "petri", "philosophers", "-n", "1")
	try.Fails(t, 2, "-n, --size must be a whole number", "petri", "dekker", "-n", "x")
	try.Fails(t, 2, `no family "hilbert"`, "petri", "hilbert", "-n", "3")
	try.Fails(t, 2, "-n N is missing", "petri", "dekker")
	try.Fails(t, 2, "FAMILY is missing: the family of the net, one of", "petri", "-n",
		"3")
	try.Fails(t, 2, `no family "hilbert"`, "petri", "hilbert")
	try.Fails(t, 2, `petri takes one FAMILY, but also "x"`, "petri", "dekker", "-n", "3", "x")
	dir := t.TempDir()
	try.Fails(t, 1, "no such file",
		"petri", "dekker", "-n", "3", "-o", filepath.Join(dir, "no", "x"))
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	try.Fails(t, 1, "taken", "petri", "dekker", "-n", "3", "-o", filepath.Join(dir, "taken"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
