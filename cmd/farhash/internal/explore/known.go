package explore

import (
	"errors"
	"slices"
	"sync"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/petri/property"
)

// known has the answers that are known before the last search ends. Goroutines share it.
type known struct {
	names []string // of all properties, in their order

	mu      sync.Mutex
	answers map[string]propertyAnswer
	traces  map[string]netTrace
	said    bool            // an answer to all is printed, or about to be
	all     chan struct{}   // It is closed when all properties have an answer.
	done    chan struct{}   // It is closed when no more efforts are made; nil if none is.
	over    <-chan struct{} // It is closed when time is over, or a signal has come.
}

func newKnown(properties []property.Property) *known {
	k := &known{answers: map[string]propertyAnswer{}, traces: map[string]netTrace{},
		all: make(chan struct{})}
	for _, p := range properties {
		k.names = append(k.names, p.Name)
	}
	return k
}

// learn takes an answer, and a trace that shows it, if there is one. The first one counts.
func (k *known) learn(p propertyAnswer, t *netTrace) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, shown := k.traces[p.Name]; !shown && t != nil {
		t.Property = p.Name
		k.traces[p.Name] = *t
	}
	if _, ok := k.answers[p.Name]; ok {
		return
	}
	k.answers[p.Name] = p
	if len(k.answers) == len(k.names) {
		close(k.all)
	}
}

// open are the properties without an answer.
func (k *known) open(all []property.Property) []property.Property {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(all), func(p property.Property) bool {
		_, ok := k.answers[p.Name]
		return ok
	})
}

// claim reports whether the caller is the first to print an answer to all.
func (k *known) claim() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := !k.said
	k.said = true
	return first
}

// completes adds what is known to an answer that is to be printed. It reports false if another one
// is. If the answer is not to everything it waits for what is found in the meantime. Without
// reductions nothing is known.
func (k *known) completes(a *answer) bool {
	if k == nil {
		return true
	}
	if k.done != nil && a.Unbounded == nil && !a.exact() {
		select {
		case <-k.done:
		case <-k.over:
		}
	}
	if !a.last && !k.claim() {
		return false
	}
	k.addTo(a)
	return true
}

// exit is the error of a search beside which everything has been answered, perhaps by others.
func (k *known) exit(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var exit *cli.ExitError
	if errors.As(err, &exit) && exit.Code == cli.ExitIncomplete && len(k.answers) == len(k.names) {
		return nil
	}
	return err
}

// addTo adds the known answers to that of the last search, in the order of the properties.
func (k *known) addTo(a *answer) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	late, traces := map[string]propertyAnswer{}, map[string]netTrace{}
	for _, p := range a.Properties {
		late[p.Name] = p
	}
	for _, t := range a.Traces {
		traces[t.Property] = t
	}
	a.Properties, a.Traces = nil, nil
	for _, name := range k.names {
		p, ok := k.answers[name]
		t, shown := k.traces[name]
		if last, answered := late[name]; answered && (!ok || last.known()) {
			p = last
			t, shown = traces[name]
		}
		if p.known() {
			k.answers[name] = p
		}
		a.Properties = append(a.Properties, p)
		if shown {
			a.Traces = append(a.Traces, t)
		}
	}
	if a.Trace = nil; len(a.Traces) > 0 && !a.Traces[0].Alone {
		a.Trace, a.TraceByWalk = &a.Traces[0].Firings, a.Traces[0].ByWalk
	}
	if !a.Complete && a.Unbounded == nil && !slices.ContainsFunc(a.Properties, unknown) {
		a.Reason, a.detail, a.NeedMem = string(explore.Decided), "", 0
	}
}

func unknown(p propertyAnswer) bool { return !p.known() }
