package temporal

import (
	"context"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
)

// Answer is what is known about a formula.
type Answer struct {
	Verdict logic.Verdict // of all initial states
	Err     error         // why it is not known; nil where Solve returns an error
	// Lasso is a path that shows it, where atoms are [Fairness] too and a Forall is false.
	Lasso *Lasso
}

// maxQuestions is how many formulas are worked on side by side, and sideBits for how many bits of a
// state, unless a formula alone has more.
const (
	maxQuestions = 60
	sideBits     = 256
)

// Solve answers formulas. Collective: every rank gives the same ones, and gets the same answers.
// The error is one of explore.States, such as that there is no memory; some answers may be known.
func Solve(ctx context.Context, states *explore.States, atoms Atoms, formulas []*logic.Formula) (
	answers []Answer, err error) {
	answers = make([]Answer, len(formulas))
	var given *conditions
	if f, ok := atoms.(Fairness); ok {
		given = &conditions{}
		given.weak, given.strong = f.Conditions()
	}
	chooser, chooses := atoms.(Chooser)
	var rounds [][]*question
	numbers := map[*question]int{}
	most := 0
	for i, f := range formulas {
		begin := 0
		if n := len(rounds); n > 0 {
			begin = rounds[n-1][len(rounds[n-1])-1].end
		}
		fair := given
		if chooses && !chooser.Shows(i) {
			fair = nil
		}
		q := compile(f, begin, fair)
		if q.err != nil {
			answers[i].Err = q.err
			continue
		}
		if q.end == begin { // it is a constant, and no state is asked
			answers[i] = Answer{Verdict: logic.VerdictOf(holds(q.root, nil))}
			continue
		}
		if n := len(rounds); n == 0 || q.end > sideBits || len(rounds[n-1]) == maxQuestions {
			q = compile(f, 0, fair)
			rounds = append(rounds, nil)
		}
		last := &rounds[len(rounds)-1]
		*last, numbers[q] = append(*last, q), i
		most = max(most, q.end)
	}
	if len(rounds) == 0 {
		return answers, nil
	}
	if err := states.Open(ctx, (most+63)/64); err != nil {
		return answers, err
	}
	for i, questions := range rounds {
		s := &solver{states: states, atoms: atoms, open: questions}
		s.answer = func(q *question, truth bool, lasso *Lasso) {
			answers[numbers[q]] = Answer{Verdict: logic.VerdictOf(truth), Lasso: lasso}
		}
		if err := s.run(ctx, i > 0); err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// solver answers questions side by side.
type solver struct {
	states *explore.States
	atoms  Atoms
	open   []*question
	answer func(q *question, truth bool, lasso *Lasso)
	again  bool // the next sweep repeats the one before
}

// run answers the questions, in words that may have to be cleared first.
func (s *solver) run(ctx context.Context, again bool) error {
	if again {
		_, _, err := s.states.Each(ctx, func(words []uint64) uint64 {
			clear(words)
			return 0
		})
		if err != nil {
			return err
		}
	}
	_, initial, err := s.states.Sweep(ctx, &seeing{s})
	for err == nil {
		if err = s.settle(ctx, initial); err != nil {
			return err
		}
		if len(s.open) == 0 {
			return nil
		}
		initial, err = s.sweep(ctx)
	}
	return err
}

// sweep is a sweep for all open questions, and what follows it.
func (s *solver) sweep(ctx context.Context) (initial []uint64, err error) {
	changed, initial, err := s.states.SweepWords(ctx, &stepping{s}, s.again)
	if err != nil {
		return nil, err
	}
	var each []func([]uint64) bool // by question; nil if nothing is to be done
	any := false
	s.again = true
	for i, q := range s.open {
		more := changed>>i&1 != 0
		done, f := q.steps[q.at].swept(more)
		s.again = s.again && more && !done && f == nil
		if done {
			q.at++
		}
		each, any = append(each, f), any || f != nil
	}
	if !any {
		return initial, nil
	}
	changed, initial, err = s.states.Each(ctx, func(words []uint64) (changed uint64) {
		for i, f := range each {
			if f != nil && f(words) {
				changed |= 1 << i
			}
		}
		return changed
	})
	if err != nil {
		return nil, err
	}
	for i, q := range s.open {
		if each[i] != nil && q.steps[q.at].applied(changed>>i&1 != 0) {
			q.at++
		}
	}
	return initial, nil
}

// settle answers the questions that are done, given the words of the initial states.
func (s *solver) settle(ctx context.Context, initial []uint64) (err error) {
	width := len(initial) / s.states.Initials()
	s.open = slices.DeleteFunc(s.open, func(q *question) bool {
		truth, settled := true, true
		for words := range slices.Chunk(initial, width) {
			truth = truth && holds(q.root, words)
			settled = settled && q.at == len(q.steps)-1 && q.steps[q.at].settled(words)
		}
		if q.at < len(q.steps) && !settled {
			return false
		}
		var lasso *Lasso
		if q.fair != nil && !truth && err == nil {
			lasso, err = s.show(ctx, q, initial, width)
		}
		s.answer(q, truth, lasso)
		return true
	})
	return err
}

// show is a path for which a Forall is false.
func (s *solver) show(ctx context.Context, q *question, initial []uint64, width int) (*Lasso,
	error) {
	p := q.shows()
	if p == nil {
		return nil, nil
	}
	if err := s.states.Publish(ctx); err != nil {
		return nil, err
	}
	for i := range s.states.Initials() {
		if bitAt(initial[i*width:], p.leads+p.start) {
			r := &left{s.states, p, map[string]*explore.Visit{}}
			return p.lasso(ctx, r, node{s.states.InitialState(i), p.start})
		}
	}
	return nil, errNoLasso
}

// seeing visits states for the first time, and finds out about atoms.
type seeing struct{ *solver }

func (s *seeing) Open([]uint64) bool { return true }

func (s *seeing) Visit(at *explore.Visit) uint64 {
	s.atoms.See(at.State, len(at.Next)/len(at.State))
	for _, q := range s.solver.open {
		for i, atom := range q.atoms {
			if bit := q.begin + i; s.atoms.Holds(atom) {
				at.Words[bit/64] |= 1 << (bit % 64)
			}
		}
	}
	return 0
}

// stepping visits states for a step of each question.
type stepping struct{ *solver }

func (s *stepping) Open(words []uint64) bool {
	for _, q := range s.solver.open {
		if q.steps[q.at].open(words) {
			return true
		}
	}
	return false
}

func (s *stepping) Visit(at *explore.Visit) (changed uint64) {
	for i, q := range s.solver.open {
		if step := q.steps[q.at]; step.open(at.Words) && step.visit(at) {
			changed |= 1 << i
		}
	}
	return changed
}

// Refused says why a formula cannot be answered: it, or an automaton of it, is too large. It is nil
// if it can be.
func Refused(f *logic.Formula) error { return compile(f, 0, nil).err }
