package check_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/statespace/check"
)

// queues is a state of two clients, each with requests that wait, and a server.
type queues struct {
	Client [2]struct{ Waiting, Done uint8 }
	Served uint8
}

// serve is a server that takes requests up to a limit, of both clients together.
func serve(canonical func(queues) queues) check.Model[queues] {
	return check.Model[queues]{Name: "serve", Init: []queues{{}}, Deadlocks: true,
		Canonical: canonical,
		Next: func(s queues, emit func(string, queues)) {
			for i, c := range s.Client {
				if next := s; c.Waiting < 3 {
					next.Client[i].Waiting++
					emit("ask", next)
				}
				if next := s; c.Waiting > 0 && s.Served < 4 {
					next.Client[i].Waiting--
					next.Client[i].Done++
					next.Served++
					emit("serve", next)
				}
			}
		},
		Properties: []check.Property[queues]{
			check.Sometimes("all are served", func(s queues) bool { return s.Served == 4 })}}
}

// sorted has the clients in order.
func sorted(s queues) queues {
	slices.SortFunc(s.Client[:], func(a, b struct{ Waiting, Done uint8 }) int {
		return cmp.Or(cmp.Compare(a.Waiting, b.Waiting), cmp.Compare(a.Done, b.Done))
	})
	return s
}

// Canonical that joins states which are not equal is refused, with two of them and what one alone
// leads to.
func TestCanonicalJoins(t *testing.T) {
	r := check.Test(t, serve(sorted))
	const basis = "stored whole; on Canonical, compared on "
	if r.Compared < 10 || !strings.Contains(r.Report(), basis) {
		t.Errorf("%d compared:\n%s", r.Compared, r.Report())
	}
	if r := check.Test(t, serve(nil)); strings.Contains(r.Report(), "Canonical") {
		t.Errorf("no Canonical:\n%s", r.Report())
	}
	erases := func(s queues) queues { s.Served = 0; return sorted(s) }
	mustSay(t, "a property that is to be found", serve(erases), "and the two are not equal: "+
		`"all are served" is true here and false there; have Canonical return one state`)
	unasked := serve(erases)
	unasked.Properties = nil
	const alone = "Served:0}, by Canonical, from there alone; have Canonical return one state"
	mustSay(t, "a field that Next reads", unasked, `: action "serve" leads to {Client:[{Waiting:`)
	mustSay(t, "a field that Next reads", unasked, alone)

	erases = func(s queues) queues { s.Client[0].Done, s.Client[1].Done = 0, 0; return sorted(s) }
	if r := check.Test(t, serve(erases)); r.States >= 70 { // nothing reads Done
		t.Errorf("%d states", r.States)
	}
	m := serve(erases)
	m.Properties = append(m.Properties, check.Always("few done", func(s queues) bool {
		return s.Client[0].Done < 2 && s.Client[1].Done < 2
	}))
	mustSay(t, "a field that a property reads", m, `"few done" is false here and true there`)
	m = serve(func(s queues) queues { s.Served = 1; return s })
	m.Next = func(s queues, emit func(string, queues)) {
		if s.Served == 4 {
			emit("stay", s)
		}
	}
	m.Init, m.Properties = []queues{{Served: 4}}, nil
	mustSay(t, "an initial state", m, `action "stay" leads to`)
}

// A state that Next emits need not fit, if what Canonical returns for it does.
func TestCanonicalFits(t *testing.T) {
	m := check.Model[locking]{Name: "ahead", Init: []locking{{}}, Deadlocks: true,
		Next: func(s locking, emit func(string, locking)) {
			for i := range s.At {
				if next := s; s.At[i] < 3 || s.At[1-i] > 0 {
					next.At[i]++
					emit("step", next)
				}
			}
		},
		Canonical: func(s locking) locking {
			least := min(s.At[0], s.At[1])
			return locking{[2]uint8{s.At[0] - least, s.At[1] - least}}
		}}
	if r := check.Test(t, m); r.States != 7 || r.Compared == 0 {
		t.Errorf("%d states, %d compared", r.States, r.Compared)
	}
}

// However many states there are, few are compared; and one of many that is wrong is found, where
// many are.
func TestSampleIsSmall(t *testing.T) {
	type pair [2]uint16
	grid := func(lose uint16) check.Model[pair] {
		return check.Model[pair]{Name: "grid", Init: []pair{{}}, Deadlocks: true,
			Next: func(s pair, emit func(string, pair)) {
				for i := range s {
					if next := s; s[i] < 300 {
						next[i]++
						emit("step", pair{max(next[0], next[1]), min(next[0], next[1])})
					}
				}
			},
			Canonical: func(s pair) pair {
				if s[0] > lose {
					s[0] = 0
				}
				return pair{min(s[0], s[1]), max(s[0], s[1])}
			}}
	}
	r, err := runOn(1, grid(300), check.Options{})
	if err != nil || r.States != 301*302/2 || r.Compared < 1<<12 || r.Compared > 1<<15 {
		t.Errorf("%+v, %v", r, err)
	}
	mustSay(t, "a large number", grid(250), "and the two are not equal")
}

// messages is a state that is packed as JSON.
type messages struct {
	Node [2]struct{ queue []uint8 }
	Seen map[uint8]bool
}

type written struct {
	Queue [2][]uint8
	Seen  map[uint8]bool
}

func (m *messages) AppendBinary(b []byte) ([]byte, error) {
	text, err := json.Marshal(written{[2][]uint8{m.Node[0].queue, m.Node[1].queue}, m.Seen})
	return append(b, text...), err
}

func (m *messages) UnmarshalBinary(b []byte) error {
	var w written
	err := json.Unmarshal(b, &w)
	m.Node[0].queue, m.Node[1].queue, m.Seen = w.Queue[0], w.Queue[1], w.Seen
	return err
}

// A slice that is nil in one state and empty in another is named. One of a type that packs both
// alike is not.
func TestNilAndEmpty(t *testing.T) {
	m := check.Model[messages]{Name: "queue", Init: []messages{{}}, MaxBytes: 200,
		Next: func(s messages, emit func(string, messages)) {
			next := s
			if q := s.Node[1].queue; len(q) < 2 {
				next.Node[1].queue = append(slices.Clone(q), 7)
				emit("send", next)
			}
			if q := s.Node[1].queue; len(q) > 0 {
				next.Node[1].queue = q[1:]
				emit("receive", next)
			}
		}}
	for _, ranks := range []int{1, 2} {
		r, err := runOn(ranks, m, check.Options{})
		const says = "WARNING: check_test.messages.Node[1].queue is nil in some states and empty "
		if err != nil || r.States != 4 || !strings.Contains(r.Report(), says) {
			t.Errorf("%d ranks: %+v, %v", ranks, r, err)
		}
	}
	m.Init[0].Node[1].queue = []uint8{}
	m.Init[0].Seen = map[uint8]bool{}
	if r := check.Test(t, m); r.States != 3 || r.Alike != "" {
		t.Errorf("%+v", r)
	}
	m.Next = func(s messages, emit func(string, messages)) {
		s.Seen = nil
		emit("forget", s)
	}
	if r := check.Test(t, m); !strings.HasSuffix(r.Alike, "messages.Seen") {
		t.Errorf("%+v", r)
	}
	either := check.Model[named]{Name: "named", Init: []named{{}}, MaxBytes: 1,
		Next: func(s named, emit func(string, named)) { emit("change", named{id: 1 - s.id}) }}
	if r := check.Test(t, either); r.Alike != "" {
		t.Errorf("%+v", r)
	}
}

// named is a state with a slice that is nil or empty by its other field.
type named struct {
	id    uint8
	items []uint8
}

func (s *named) AppendBinary(b []byte) ([]byte, error) { return append(b, s.id), nil }

func (s *named) UnmarshalBinary(b []byte) error {
	if s.id = b[0]; s.id == 1 {
		s.items = []uint8{}
	}
	return nil
}
