package explore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/farhash/farhash/internal/plural"
	"github.com/farhash/farhash/rma"
)

// maxStateWords is the length of the longest states.
const maxStateWords = 512

// maxFindings is how many findings a model has at most.
const maxFindings = 1 << 20

// ModelError says what a model did on this rank that its contract does not allow. The other
// ranks get a *rma.PeerError that says which rank it was, and which rule was broken.
type ModelError struct {
	Rank   int
	Detail string // what it did, with the values

	breach breach
}

func (e *ModelError) Error() string {
	return fmt.Sprintf("explore: on rank %d %v: %s", e.Rank, e.breach, e.Detail)
}

// breach is a rule of the contract that a model has broken.
type breach uint8

const (
	breachPanic breach = iota
	breachSizes
	breachInitial
	breachShorter
	breachChanged
	breachPart
	breachWide
	breachFindings
	breaches // how many there are
)

func (b breach) String() string {
	return "the model " + [breaches]string{
		breachPanic:    "panicked",
		breachSizes:    "has sizes that no search can work with",
		breachInitial:  "has an initial state that is none",
		breachShorter:  "returned from Expand less than it was given",
		breachChanged:  "changed in Expand what it was given",
		breachPart:     "returned from Expand a part of a state",
		breachWide:     "returned from Expand a state with bits beyond StateBits",
		breachFindings: "has a finding that fell",
	}[b]
}

// reason is a breach as a reason for all ranks to stop.
func (b breach) reason() stopReason { return stopModel + stopReason(b) }

// failed is the error of the other ranks when one rank stops for a reason.
func (why stopReason) failed(rank int) error {
	what := "explore"
	if why >= stopModel && why < stopModel+stopReason(breaches) {
		what += ": " + breach(why-stopModel).String()
	}
	return &rma.PeerError{What: what, Rank: rank}
}

// reasonOf is the reason for which a rank stops after an error.
func reasonOf(cause error) stopReason {
	var broken *ModelError
	if errors.As(cause, &broken) {
		return broken.breach.reason()
	}
	return stopError
}

// broken is the error of a model that has broken a rule on this rank.
func (s *search) broken(b breach, format string, args ...any) error {
	return &ModelError{Rank: s.job.Rank(), breach: b, Detail: fmt.Sprintf(format, args...)}
}

// recoverPanic makes a panic of the model an error, so that the other ranks get one too. It is
// deferred where nothing but the model runs.
func (s *search) recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = s.broken(breachPanic, "%v\n%s", p, debug.Stack())
	}
}

// admit takes over what the model says of itself, and refuses what breaks the contract.
func (s *search) admit(model Model) (err error) {
	defer s.recoverPanic(&err)
	if model == nil {
		return s.broken(breachSizes, "it is nil; give Run a model")
	}
	bits, words := model.StateBits(), model.StateWords()
	switch {
	case words < 1 || words > maxStateWords:
		return s.broken(breachSizes, "StateWords is %d; a state has 1 to %d words", words,
			maxStateWords)
	case bits < 1 || bits > 64*words:
		return s.broken(breachSizes, "StateBits is %d; where StateWords is %d it is 1 to %d", bits,
			words, 64*words)
	case bits <= 64 && words > 1:
		return s.broken(breachSizes, "StateBits is %d and StateWords %d; up to 64 bits are "+
			"one word", bits, words)
	}
	s.model, s.bits, s.words, s.initial = model, bits, words, model.Initial(nil)
	if len(s.initial) == 0 || len(s.initial)%words != 0 {
		return s.broken(breachInitial, "Initial appended %s; append at least one state of %s",
			plural.Of(len(s.initial), "word"), plural.Of(words, "word"))
	}
	if i := s.tooWide(s.initial); i >= 0 {
		return s.broken(breachInitial, "%#x has bits beyond the %d of StateBits", s.initial[i],
			bits)
	}
	if s.expander = model.NewExpander(); s.expander == nil {
		return s.broken(breachSizes, "NewExpander returned nil")
	}
	if s.findings = model.Findings(); s.findings < 0 || s.findings > maxFindings {
		return s.broken(breachSizes, "Findings is %d; a model has 0 to %d", s.findings,
			maxFindings)
	}
	s.live, err = s.expanderFindings()
	return err
}

// tooWide returns the first of states that has bits beyond StateBits, -1 if none has. Where a
// state has several words, which bits count is the model's affair.
func (s *search) tooWide(states []uint64) int {
	if s.words > 1 {
		return -1
	}
	all, rest := uint64(0), states
	for ; len(rest) >= 8; rest = rest[8:] { // each time all are right
		w := (*[8]uint64)(rest)
		all |= w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]
	}
	for _, word := range rest {
		all |= word
	}
	if all>>s.bits == 0 {
		return -1
	}
	return slices.IndexFunc(states, func(word uint64) bool { return word>>s.bits != 0 })
}

// gather has the model expand the states to be expanded, from one on, until the batch of successors
// is full or none is left. It may run beside everything but itself.
func (w *worker) gather(g *gathered, from int) {
	*g = gathered{batch: g.batch[:0], from: g.from[:0], fresh: g.fresh[:0], findings: g.findings,
		end: from}
	g.err = w.gatherInto(g)
}

func (w *worker) gatherInto(g *gathered) (err error) {
	defer w.recoverPanic(&err)
	for words := w.words; g.end < w.given && len(g.batch) < w.full*words; g.end++ {
		// Capped: a model that appends to a state must not reach the next one.
		state := w.states[g.end*words : (g.end+1)*words : (g.end+1)*words]
		given, last := len(g.batch), uint64(0)
		if given > 0 {
			last = g.batch[given-1]
		}
		out, err := w.expander.Expand(state, g.batch)
		if err != nil {
			return err
		}
		if words == 1 && len(out) >= given && given > 0 && out[given-1] == last &&
			unsafe.SliceData(out) == unsafe.SliceData(g.batch) {
			g.batch = out // as nearly always
		} else if err := w.take(g, out, last); err != nil {
			return err
		}
		g.count((len(out) - given) / words)
		if w.expander.Found() != w.found.n {
			g.fresh = w.found.look(g.fresh, w.name(g.end))
		}
		g.batch = w.recent.drop(g.batch, given)
		if w.log != nil && w.fingerprints() {
			for name := w.name(g.end); len(g.from) < len(g.batch)/words; {
				g.from = append(g.from, name)
			}
		}
	}
	if i := w.tooWide(g.batch); i >= 0 {
		return w.broken(breachWide, "%#x, and StateBits is %d", g.batch[i], w.bits)
	}
	if i := w.found.fell(); i >= 0 {
		return w.broken(breachFindings, "finding %d is %d after %d", i, w.found.live[i],
			w.found.last[i])
	}
	copy(g.findings, w.found.live)
	return nil
}

// count counts the successors of a state. One without any is a deadlock.
func (g *gathered) count(successors int) {
	g.arcs += uint64(successors)
	if successors == 0 {
		if g.dead == 0 {
			g.deadlocked = g.end
		}
		g.dead++
	}
}

// take makes what Expand has returned the batch, whose last word was last.
func (w *worker) take(g *gathered, out []uint64, last uint64) error {
	given := len(g.batch)
	switch {
	case len(out) < given:
		return w.broken(breachShorter, "%s of %d; append to out and return all of it",
			plural.Of(len(out), "word"), given)
	case w.words > 1 && (len(out)-given)%w.words != 0:
		return w.broken(breachPart, "it appended %s; a state has %d",
			plural.Of(len(out)-given, "word"), w.words)
	case given > 0 && out[given-1] != last,
		unsafe.SliceData(out) != unsafe.SliceData(g.batch) && !slices.Equal(out[:given], g.batch):
		return w.broken(breachChanged, "out does not begin any more with what it had; append to "+
			"out and return all of it")
	case unsafe.SliceData(out) != unsafe.SliceData(g.batch):
		// The memory may be the model's, which may use it again.
		g.batch = append(g.batch, out[given:]...)
	default:
		g.batch = out
	}
	return nil
}

// successors has the model count those of an initial state, as far as they fit its packing.
func (s *search) successors() (n int, err error) {
	defer s.recoverPanic(&err)
	out, _ := s.model.NewExpander().Expand(slices.Clone(s.initial[:s.words]), nil)
	return len(out) / s.words, nil
}
