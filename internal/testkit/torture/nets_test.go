//go:build linux

package torture

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farhash/farhash/internal/testkit/naive"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/statespace/petri"
)

// maxNaiveStates is how many states the naive explorer may find.
const maxNaiveStates = 20_000

// strikeNet explores a random net in random ways.
func strikeNet(r *round) error {
	m, err := r.small()
	if err != nil {
		return err
	}
	return r.strikeModel(m)
}

// strikeModel explores a net in random ways.
func (r *round) strikeModel(m *model) error {
	for range 3 {
		args := []string{"explore", m.path, "--json", "-q"}
		var mayFail []int
		switch r.IntN(3) {
		case 0:
			args = append(args, "--order=any")
		case 1:
			args = append(args, "--trace=deadlock")
		}
		switch r.IntN(4) {
		case 0:
			args, mayFail = append(args, "--encoding=word"), []int{1, 2}
		case 1:
			args = append(args, "--encoding=element")
		}
		if !m.want.Complete || r.IntN(8) == 0 {
			// Four ranks of Open MPI alone take 130 MiB.
			args, mayFail = append(args, "--mem=256MiB"), append(mayFail, 3)
		}
		if !m.want.Complete {
			mayFail = append(mayFail, 1, 5) // more tokens than a net may have; it is unbounded
		}
		if r.IntN(4) == 0 {
			args, mayFail = append(args, "--access=shipped"), append(mayFail, 1) // needs UCX
		}
		for _, flag := range []string{"--check", "--direct=false", "--access=one-sided"} {
			if r.IntN(4) == 0 {
				args = append(args, flag)
			}
		}
		c := r.ranks(r.engine(), 1+r.IntN(4), args...)
		if err := c.run(m.patience()); err != nil {
			return err
		}
		if c.code() != 0 && len(c.sent) == 0 && !slices.Contains(mayFail, c.code()) {
			return c.wrong("it fails")
		}
		if err := c.answers(m); err != nil {
			return err
		}
	}
	return nil
}

// net draws a net. Most are small and bounded.
func (r *round) net() *petri.Net {
	n := naive.AnyNet(r.Rand, 1+r.IntN(8), r.IntN(9))
	for t := range n.Transitions {
		if r.IntN(12) == 0 {
			n.Transitions[t].In = nil // a source
		}
		if r.IntN(12) == 0 {
			n.Transitions[t].Out = slices.Clone(n.Transitions[t].In) // a loop
		}
	}
	if r.IntN(4) != 0 {
		complement(n, 1+r.Int64N(5))
	}
	if r.IntN(6) == 0 {
		scale(n, 1<<r.IntN(25))
	}
	odd := pick(r, "p", "p", "-", "--json", "ä ö", "<&>\"'", "日本", "a\tb", "panic", "%d", "\\", "🦆",
		strings.Repeat("long", 100))
	for i := range n.Places {
		n.Places[i].ID = fmt.Sprint(odd, i)
	}
	for i := range n.Transitions {
		n.Transitions[i].ID = fmt.Sprint(i, odd)
	}
	return n
}

// complement bounds all places by a place for each that has the tokens it has room for.
func complement(n *petri.Net, room int64) {
	places := len(n.Places)
	shift := func(arcs []petri.Arc) []petri.Arc {
		var all []petri.Arc
		for _, a := range arcs {
			all = append(all, petri.Arc{Place: places + a.Place, Weight: a.Weight})
		}
		return all
	}
	for i := range places {
		id := fmt.Sprint("room", i)
		n.Places = append(n.Places, petri.Place{ID: id, Name: id, Initial: room})
	}
	for i := range n.Transitions {
		t := &n.Transitions[i]
		in, out := shift(t.In), shift(t.Out)
		t.In, t.Out = append(t.In, out...), append(t.Out, in...)
	}
}

// scale multiplies all tokens, which changes neither states nor arcs.
func scale(n *petri.Net, by int64) {
	for i := range n.Places {
		n.Places[i].Initial *= by
	}
	for i := range n.Transitions {
		t := &n.Transitions[i]
		for _, arcs := range [][]petri.Arc{t.In, t.Out, t.Inhibitors} {
			for j := range arcs {
				arcs[j].Weight *= by
			}
		}
	}
}

// model is a net in a file, and the right answer: not complete where that is not known.
type model struct {
	*petri.Net
	path string
	want naive.Result
	long time.Duration // patience where that is not known
}

// patience is after what time a search of the model is asked to end, or 0 where it has an end. A
// net of few states a level fills no memory, and has millions of levels.
func (m *model) patience() time.Duration {
	if m.want.Complete {
		return 0
	}
	return m.long
}

// write makes the file of a net, of which so many states are explored.
func (r *round) write(n *petri.Net, limit int) (*model, error) {
	m := &model{Net: n, path: r.path(n.Name + ".pnml"), long: r.sweep.patience}
	var text strings.Builder
	if err := petri.Write(&text, n); err != nil {
		return nil, err
	}
	var known bool
	if m.want, known = r.known[text.String()]; !known {
		var err error
		m.want, err = naive.Explore(n, limit)
		if err != nil && !errors.Is(err, naive.ErrTokens) {
			return nil, err
		}
		if limit > maxNaiveStates {
			r.known[text.String()] = m.want // it took a while
		}
	}
	return m, os.WriteFile(m.path, []byte(text.String()), 0o600)
}

// small is a random net.
func (r *round) small() (*model, error) { return r.write(r.net(), maxNaiveStates) }

// family is a net that takes a moment to explore.
func (r *round) family(size int) (*model, error) {
	name, more := "philosophers", r.IntN(3) // the others have fewer states
	switch r.IntN(4) {
	case 0:
		name, more = "referendum", more+1
	case 1:
		name, more = "dekker", more+1
	}
	n, err := petri.Family(name, size+more)
	if err != nil {
		return nil, err
	}
	return r.write(n, 1<<30)
}

// engine draws one of those that are here; what it draws does not depend on them.
func (r *round) engine() string {
	e := pick(r, "local", "local", "local", "shm", "shm", "ucx", "openmpi", "mpich")
	if e == "local" || r.programs[e] != "" {
		return e
	}
	return "shm"
}

// ranks is farhash with arguments on the ranks of an engine.
func (r *round) ranks(engine string, n int, args ...string) *command {
	var before, env []string
	number := strconv.Itoa(n)
	switch engine {
	case "local":
		args = append(args, "-n", number)
	case "shm":
		before = []string{r.programs["plain"], "run", "-n", number, "--"}
	case "ucx":
		before = r.node(0, 1, n, twohosts.FreeAddress(r.t))
	case "openmpi":
		before = []string{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", number}
	case "mpich":
		before = []string{"mpiexec.hydra", "-n", number}
	}
	if strings.Contains(engine, "mpi") {
		env = []string{"FARHASH_ENGINE=mpi"}
	}
	r.count(1, "runs by "+engine)
	program := cmp.Or(r.programs[engine], r.programs["plain"])
	return r.command(env, slices.Concat(before, []string{program}, args)...)
}

// node is how the ranks of one of several hosts are started.
func (r *round) node(host, hosts, ranks int, address string) []string {
	return strings.Fields(fmt.Sprintf("%s run --rendezvous %s --nnodes %d --node-rank %d "+
		"--nproc %d --", r.programs["ucx"], address, hosts, host, ranks))
}
