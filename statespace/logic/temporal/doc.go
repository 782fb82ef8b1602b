// Package temporal answers formulas of CTL*, and so of CTL and LTL, on the states that a search of
// package explore has stored, on all its ranks.
//
// [Atoms] gives the truth of formulas in a state, where they do not look along paths. [Solve] finds
// out whether formulas that do are true of the initial states:
//
//	opts.After = func(ctx context.Context, states *explore.States) error {
//		answers, err = temporal.Solve(ctx, states, model, formulas)
//		return err
//	}
//
// A path is infinite, or ends in a deadlock. In a deadlock Exists Next is false and Forall Next is
// true, whatever their argument. Where several operators stand within one Exists or Forall, the
// last state of a path that ends is taken to repeat for ever, as the Model Checking Contest has it
// for LTL. One operator alone has the meaning of CTL: who asks Forall Next p as a formula of LTL
// also asks that p is true in the initial state if that is a deadlock (package petri/property does
// so of formulas of the contest whose id has "-LTL").
//
// # Method
//
// Each state has some bits for each formula: which atoms are true, and for each Exists and Forall
// within the formula whether it is true. These are found out one after the other, the inner ones
// first, by sweeps over all states: a state whose bits may still change looks at the bits of its
// successors. A sweep that changes nothing ends a step. The first sweep expands all states, and
// remembers arcs as far as there is memory; where arcs are not known, states are expanded again.
//
// One operator within an Exists or Forall is a fixpoint (Clarke, Emerson and Sistla, Automatic
// verification of finite-state concurrent systems using temporal logic specifications, TOPLAS
// 1986). Of Until the states are found from which it is true, of Globally the states from which it
// is not.
//
// A formula of several is translated to an automaton (package ltl), and the states are searched
// together with it. First the kernel is found: pairs of a state of the system and one of the
// automaton, in the parts of the automaton that have transitions of all its sets. All are in it at
// first. Those with no way on are dropped, and those from which transitions of some set are not
// reached, until nothing changes (Emerson and Lei, Efficient model checking in fragments of the
// propositional mu-calculus, LICS 1986; Fisler et al., Is there a best symbolic cycle-detection
// algorithm?, TACAS 2001). Sets are looked at side by side, as far as 64 bits of a state suffice.
// Then the pairs are found that lead to the kernel. Forall is the opposite of Exists of the
// opposite.
//
// With [Fairness] those paths alone count that are fair to actions. A weak condition is one more
// set: of arcs that take the action, or begin where it cannot be taken. Of a strong one, pairs are
// dropped where the action can be taken, and from which no arc that takes it is reached (Kesten,
// Pnueli and Raviv, Algorithmic verification of linear temporal logic specifications, ICALP 1998).
// What is left has a fair path: in a part that nothing leads out of, an action that can be taken is
// taken.
//
// A Forall that is false is then shown by a path: from an initial state each rank takes a shortest
// way to the kernel, and there shortest ways to arcs of each set in turn, until one leads back.
//
// A [Walker] finds such paths without a search: on walks that store their own states alone.
//
// Formulas are worked on side by side, as many as there are bits for, so that one sweep serves all
// of them. A formula ends early when the initial states know the answer.
package temporal
