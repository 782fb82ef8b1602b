package packing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/farhash/farhash/statespace/explore"
	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri/property"
)

// The first findings of an expander: the most tokens in a place, and in a marking.
const (
	findingPlace = iota
	findingMarking
	findingQuestions // the findings of the questions follow
)

// Peaks are the most tokens that a search has found in one place, and in one marking.
func Peaks(res *explore.Result) (place, marking uint64) {
	return res.Findings[findingPlace], res.Findings[findingMarking]
}

// question is a property as a packing asks it.
type question struct {
	*property.Property
	formula *logic.Formula // whose truth in one marking decides; nil if none is needed
	known   logic.Verdict  // by structure
	finding int            // its first one
	most    int64          // of Bound: no marking has more
	paths   *logic.Formula // of Temporal; nil if it is refused
	refused string         // why it cannot be answered
}

// questions are the properties that a packing is asked for.
//
// A question of a formula has one finding, 1 when a marking decides it: one where an Always does
// not hold, or a Sometimes does. A bound has two: the largest value + 1, and 1 if that is the
// most that the structure allows. Liveness has one, 1 at a deadlock. A temporal one has one, its
// verdict after the search. Transitions, where a question needs to know which can fire, have one
// each, and then places that reset arcs lead to: a firing that empties one need not change it.
type questions struct {
	list    []question
	fires   int   // the first finding of the transitions; 0 if none is needed
	emptied []int // places, whose findings follow those of the transitions
	n       int   // findings in all
}

// ask has the packing answer properties.
func (p *Packing) ask(properties []property.Property) error {
	q := &p.questions
	q.n = findingQuestions
	for i := range properties {
		at := question{Property: &properties[i], finding: q.n}
		q.n += ownFindings(at.Kind)
		switch at.Kind {
		case property.Always, property.Sometimes:
			p.askFormula(&at)
		case property.Bound:
			if err := p.askBound(&at); err != nil {
				return err
			}
		case property.Stable:
			at.known = p.stableByStructure()
		case property.QuasiLive:
			if len(p.net.Transitions) == 0 {
				at.known = logic.True
			} else if slices.Contains(p.s.live, false) {
				at.known = logic.False
			}
		case property.Live:
			p.askLive(&at)
		case property.Temporal:
			p.askPaths(&at)
		}
		q.list = append(q.list, at)
	}
	for i := range q.list {
		at := &q.list[i]
		if at.Kind >= property.Stable && q.fires == 0 && at.known == logic.Unknown {
			q.fires = q.n
			q.n += len(p.net.Transitions)
			for place, emptied := range p.s.emptied() {
				if emptied {
					q.emptied = append(q.emptied, place)
				}
			}
			q.n += len(q.emptied)
		}
	}
	return nil
}

// ownFindings is how many findings a question of a kind has for itself.
func ownFindings(kind property.Kind) int {
	switch kind {
	case property.Always, property.Sometimes, property.Live, property.Temporal:
		return 1
	case property.Bound:
		return 2
	}
	return 0
}

// Witnesses are the findings whose witnesses show answers to some of the properties, for
// explore.Options.Trace. For bounds that is the case with TraceEach alone.
func Witnesses(properties []property.Property) []int {
	var all []int
	next := findingQuestions
	for _, p := range properties {
		switch p.Kind {
		case property.Live:
			all = append(all, next, explore.Stranded)
		case property.Always, property.Sometimes, property.Bound:
			all = append(all, next)
		}
		next += ownFindings(p.Kind)
	}
	return all
}

// askFormula finds out what one marking must be like to decide a question.
func (p *Packing) askFormula(at *question) {
	f := at.Formula
	if at.Kind == property.Always {
		f = logic.Of(logic.Not, f)
	}
	at.formula = p.simplify(f)
	if at.formula.Constant() {
		found := at.formula.Op == logic.And // in each marking: that decides a Sometimes
		at.known = logic.VerdictOf(found == (at.Kind == property.Sometimes))
	}
}

// askLive asks for deadlocks, which are the answer, if there is a transition at all.
func (p *Packing) askLive(at *question) {
	switch {
	case len(p.net.Transitions) == 0:
		at.known = logic.True
	case slices.Contains(p.s.live, false):
		at.known = logic.False
	default:
		at.formula = p.simplify(logic.Leaf(property.Stuck{}))
	}
}

// live are the findings that must be live for a question, for explore.Options.Live.
func (p *Packing) live() []int {
	var all []int
	open := func(q question) bool { return q.Kind == property.Live && q.known == logic.Unknown }
	if slices.ContainsFunc(p.questions.list, open) {
		for t := range p.net.Transitions {
			all = append(all, p.questions.fires+t)
		}
	}
	return all
}

// askBound bounds a sum.
func (p *Packing) askBound(at *question) error {
	if at.Sum.Constant < 0 {
		return fmt.Errorf("property %s: the bound of a sum with a negative part is not supported",
			at.Name)
	}
	for _, t := range at.Sum.Terms {
		if t.Weight < 0 {
			return fmt.Errorf("property %s: the bound of a sum with a negative part is not "+
				"supported", at.Name)
		}
	}
	low, high := p.extremes(at.Sum, property.Sum{})
	at.most = high
	if low == high {
		at.known = logic.True
	}
	return nil
}

// stableByStructure is True if no transition that can fire changes some place, and False if there
// is no place.
func (p *Packing) stableByStructure() logic.Verdict {
	if len(p.net.Places) == 0 {
		return logic.False
	}
	may := make([]bool, len(p.net.Places))
	for t := range p.net.Transitions {
		if p.s.live[t] {
			changed(&p.net.Transitions[t], func(place int) { may[place] = true })
		}
	}
	if slices.Contains(may, false) {
		return logic.True
	}
	return logic.Unknown
}

// allChanged reports whether each place has had another number of tokens than initially, as
// findings say.
func (p *Packing) allChanged(findings []uint64) bool {
	changed := make([]bool, len(p.net.Places))
	first := p.questions.fires + len(p.net.Transitions)
	for i, place := range p.questions.emptied {
		changed[place] = findings[first+i] != 0
	}
	for t := range p.net.Transitions {
		if findings[p.questions.fires+t] != 0 {
			for _, c := range changes(&p.net.Transitions[t]) {
				changed[c.index] = true
			}
		}
	}
	return !slices.Contains(changed, false)
}

// Findings is the number of findings that expanders keep.
func (p *Packing) Findings() int { return p.questions.n }

// Decided reports whether all questions are answered. Without questions there is no end before
// all markings are found.
func (p *Packing) Decided(findings []uint64) bool {
	q := &p.questions
	for i := range q.list {
		if q.list[i].refused == "" && !p.answer(&q.list[i], findings, &explore.Result{}).Exact {
			return false
		}
	}
	return len(q.list) > 0
}

// Answers says what a search has found out about the properties.
func (p *Packing) Answers(res *explore.Result) []property.Answer {
	var all []property.Answer
	for i := range p.questions.list {
		all = append(all, p.known(&p.questions.list[i], res.Findings, res))
	}
	return all
}

// Unfired are the transitions that are known not to fire in any reachable marking: those that the
// structure of the net excludes, and after a complete search all, if a question asks which fire or
// their firings are counted.
func (p *Packing) Unfired(res *explore.Result) (all []int) {
	fires := p.questions.fires
	for t, live := range p.s.live {
		if !live || fires > 0 && res.Complete && res.Findings[fires+t] == 0 ||
			res.Complete && res.Coverage != nil && res.Coverage[t].Arcs == 0 {
			all = append(all, t)
		}
	}
	return all
}

// decided has use called for the answers that the findings of a search give before it is over.
func (p *Packing) decided(shot explore.Snapshot, use func(number int, a property.Answer)) {
	findings := shot.Findings
	if findings == nil { // it has not begun
		findings = make([]uint64, p.questions.n)
	}
	for i := range p.questions.list {
		a := p.known(&p.questions.list[i], findings, &explore.Result{Walks: shot.Walks})
		if a.Exact {
			use(i, a)
		}
	}
}

// known is answer, and whether a walk has shown it.
func (p *Packing) known(q *question, findings []uint64, res *explore.Result) property.Answer {
	a := p.answer(q, findings, res)
	if q.Kind != property.Bound {
		_, a.ByWalk = res.Walks[a.Witness]
	}
	return a
}

// answer is what findings say about a question, where a result says whether they are of all
// markings, and what else is known.
func (p *Packing) answer(q *question, findings []uint64, res *explore.Result) property.Answer {
	complete := res.Complete
	a := property.Answer{Property: q.Property, Witness: -1, Verdict: q.known, Structural: true,
		Transition: -1}
	if q.known != logic.Unknown {
		a.Exact, a.Value = true, q.most
		if q.Kind >= property.QuasiLive {
			a.Transition = slices.Index(p.s.live, false)
		}
		return a
	}
	a.Structural = false
	switch q.Kind {
	case property.Bound:
		a.Value = int64(findings[q.finding]) - 1
		a.Witness = q.finding // for explore.Options.TraceEach
		a.Exact = complete || findings[q.finding+1] != 0
		return a
	case property.Always, property.Sometimes:
		sometimes := q.Kind == property.Sometimes
		if findings[q.finding] != 0 {
			a.Verdict, a.Witness = logic.VerdictOf(sometimes), q.finding
		} else if complete {
			a.Verdict = logic.VerdictOf(!sometimes)
		}
	case property.Temporal:
		if a.Verdict, a.Reason = logic.Verdict(findings[q.finding]), q.refused; res.Swept != nil {
			a.Reason = cmp.Or(a.Reason, res.Swept.Detail)
		}
		if slices.ContainsFunc(res.Traces, func(t explore.Trace) bool {
			return t.Target == q.finding
		}) {
			a.Witness = q.finding
		}
	case property.QuasiLive, property.Stable:
		fires := func(t int) bool { return findings[p.questions.fires+t] != 0 }
		all := true // transitions have fired, or places changed
		if q.Kind == property.Stable {
			all = p.allChanged(findings)
		} else {
			for t := range p.net.Transitions {
				all = all && fires(t)
			}
		}
		if all || complete {
			a.Verdict = logic.VerdictOf(all == (q.Kind == property.QuasiLive))
		}
	case property.Live:
		switch live := res.Live; {
		case findings[q.finding] != 0:
			a.Verdict, a.Witness = logic.False, q.finding
		case live == nil:
		case !live.Known:
			a.Reason = live.Detail
		case live.Live:
			a.Verdict = logic.True
		default:
			a.Verdict, a.Witness = logic.False, explore.Stranded
			a.Transition = live.Finding - p.questions.fires
		}
	}
	a.Exact = a.Verdict != logic.Unknown
	return a
}
