package property

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farhash/farhash/statespace/logic"
	"github.com/farhash/farhash/statespace/petri"
)

const (
	// maxNumber is the largest number in a property, and maxWeights the largest sum of the
	// weights of a sum: with petri.MaxTokens tokens in each place it fits into 64 bits.
	maxNumber  = 1 << 31
	maxWeights = 1 << 30
	// maxDepth is how deep formulas nest.
	maxDepth = 1000
)

// ParseFormula reads a formula about the markings of net.
func ParseFormula(net *petri.Net, text string) (*logic.Formula, error) {
	return parseFormula(net, text, ofMarkings)
}

// ParseLTL reads what a formula of LTL asks of net: whether it holds on all paths from the initial
// marking. The operators of paths are X, F, G, U, W and R. The last marking of a path that ends
// repeats for ever.
func ParseLTL(net *petri.Net, text string) (Property, error) {
	f, err := parseFormula(net, text, linear)
	if err != nil {
		return Property{}, err
	}
	p := propertyOf(logic.Of(logic.Forall, f))
	if p.Kind == Temporal {
		p.Formula = repeating(p.Formula)
	}
	return p, nil
}

// ParseCTL reads what a formula of CTL, or of CTL*, asks of net: whether it holds initially. A and
// E stand before operators of paths: AG, EF, A(p U q), A(G F p).
func ParseCTL(net *petri.Net, text string) (Property, error) {
	f, err := parseFormula(net, text, branching)
	if err != nil {
		return Property{}, err
	}
	return propertyOf(f), nil
}

// language is which operators of paths a formula may have.
type language int

const (
	ofMarkings language = iota // none
	linear                     // all but A and E
	branching                  // all, and within A and E only
)

func parseFormula(net *petri.Net, text string, l language) (*logic.Formula, error) {
	p := &parser{names: namesOf(net), text: text, language: l, path: l == linear}
	p.next()
	f, err := p.iff()
	if err == nil && p.token != "" {
		err = p.wrong("and, or, =>, <=> or the end")
	}
	if err != nil {
		return nil, fmt.Errorf("formula %q: %w", text, err)
	}
	return f, nil
}

// ParseSum reads a sum of tokens of net, such as tokens(a) + 2*tokens(b).
func ParseSum(net *petri.Net, text string) (Sum, error) {
	p := &parser{names: namesOf(net), text: text}
	p.next()
	s, err := p.sum()
	if err == nil && p.token != "" {
		err = p.wrong("+, - or the end")
	}
	if err != nil {
		return s, fmt.Errorf("sum %q: %w", text, err)
	}
	return s, nil
}

// parser reads formulas by recursive descent.
type parser struct {
	names  *names
	text   string
	at     int    // where the next token is searched
	begin  int    // of the present one
	token  string // the present one; empty at the end
	quoted bool
	depth  int

	language language
	path     bool // the formula at hand is of a path
}

// next reads a token.
func (p *parser) next() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
	p.begin, p.quoted = p.at, false
	rest := p.text[p.at:]
	switch {
	case rest == "":
		p.token = ""
	case rest[0] == '-':
		p.token = "-"
		p.at++
	case rest[0] == '"':
		if end := strings.IndexByte(rest[1:], '"'); end >= 0 {
			p.token, p.quoted = rest[1:end+1], true
			p.at += end + 2
			return
		}
		p.token = rest // has no second quote, and so is wrong anywhere
		p.at = len(p.text)
	default:
		n := strings.IndexFunc(rest, func(r rune) bool { return !inName(r) || r == '-' })
		switch {
		case n < 0:
			n = len(rest)
		case strings.HasPrefix(rest, "<=>"):
			n = 3
		case n == 0 && len(rest) > 1 && strings.Contains("<= >= != == => && ||", rest[:2]) &&
			rest[1] != ' ':
			n = 2
		case n == 0:
			_, n = utf8.DecodeRuneInString(rest)
		}
		p.token = rest[:n]
		p.at += n
	}
}

// name reads the token at hand again as a name, which may have minus signs, or a pattern of names
// with asterisks.
func (p *parser) name(what string) (string, error) {
	if p.quoted && p.token != "" {
		return p.token, nil
	}
	rest := p.text[p.begin:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !inName(r) && r != '*' })
	if n < 0 {
		n = len(rest)
	}
	if n == 0 || p.quoted {
		return "", p.wrong("the id of a " + what)
	}
	p.at = p.begin + n
	return rest[:n], nil
}

// inName reports whether a name without quotes may have r.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.:-$", r)
}

// is reports whether the token is one of words.
func (p *parser) is(words ...string) bool {
	for _, w := range words {
		if !p.quoted && p.token == w {
			return true
		}
	}
	return false
}

// wrong is the error for the token at hand.
func (p *parser) wrong(want string) error {
	if p.token == "" && !p.quoted {
		return fmt.Errorf("it ends where %s must follow", want)
	}
	return fmt.Errorf("%q at character %d is not %s", p.token, p.character(), want)
}

// character is where the token at hand begins, from 1.
func (p *parser) character() int { return utf8.RuneCountInString(p.text[:p.begin]) + 1 }

func (p *parser) expect(word string) error {
	if !p.is(word) {
		return p.wrong(word)
	}
	p.next()
	return nil
}

// list reads one or more of what one reads, joined by a word.
func (p *parser) list(op logic.Op, one func() (*logic.Formula, error), words ...string) (
	*logic.Formula, error) {
	first, err := one()
	if err != nil || !p.is(words...) {
		return first, err
	}
	f := logic.Of(op, first)
	for p.is(words...) {
		p.next()
		arg, err := one()
		if err != nil {
			return nil, err
		}
		f.Args = append(f.Args, arg)
	}
	return f, nil
}

// iff reads what is joined by <=>, from the left.
func (p *parser) iff() (*logic.Formula, error) {
	f, err := p.implies()
	for n := 0; err == nil && p.is("<=>"); n++ {
		if n == maxDepth {
			return nil, fmt.Errorf("more than %d are joined by <=>", maxDepth)
		}
		p.next()
		var g *logic.Formula
		g, err = p.implies()
		f = logic.Of(logic.Iff, f, g)
	}
	return f, err
}

// implies reads what is joined by =>, from the right.
func (p *parser) implies() (*logic.Formula, error) {
	f, err := p.or()
	if err != nil || !p.is("=>") {
		return f, err
	}
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	p.next()
	g, err := p.implies()
	return logic.Of(logic.Or, logic.Of(logic.Not, f), g), err
}

func (p *parser) or() (*logic.Formula, error)  { return p.list(logic.Or, p.and, "or", "||") }
func (p *parser) and() (*logic.Formula, error) { return p.list(logic.And, p.until, "and", "&&") }

// until reads what is joined by U, W and R, from the right. They bind more than and.
func (p *parser) until() (*logic.Formula, error) {
	f, err := p.not()
	if err != nil || !p.is("U", "W", "R") {
		return f, err
	}
	if err := p.mayLook(); err != nil {
		return nil, err
	}
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	sign := p.token
	p.next()
	g, err := p.until()
	if err != nil {
		return nil, err
	}
	not := func(f *logic.Formula) *logic.Formula { return logic.Of(logic.Not, f) }
	switch sign {
	case "W": // g need not come if f holds for ever
		return logic.Of(logic.Or, logic.Of(logic.Until, f, g), logic.Of(logic.Globally, f)), nil
	case "R": // g holds until f has, and then too
		return not(logic.Of(logic.Until, not(f), not(g))), nil
	}
	return logic.Of(logic.Until, f, g), nil
}

// pathOperators are those before a formula.
var pathOperators = map[string]logic.Op{"X": logic.Next, "F": logic.Finally, "G": logic.Globally}

// quantifiers say whether a formula has to be true of all paths or of one.
var quantifiers = map[byte]logic.Op{'A': logic.Forall, 'E': logic.Exists}

// mayLook refuses the operator of paths at hand where the formula must not look along paths.
func (p *parser) mayLook() error {
	switch {
	case p.path:
		return nil
	case p.language == branching:
		return fmt.Errorf("%s stands outside of A and E, at character %d", p.token, p.character())
	}
	return fmt.Errorf("%s at character %d looks along paths, which formulas of ltl and ctl do",
		p.token, p.character())
}

// looking reads a formula that begins with X, F or G, with A or E, or with both in one word, as AG.
// ok is false if the next word is none of these.
func (p *parser) looking() (f *logic.Formula, ok bool, err error) {
	if p.quoted || p.token == "" {
		return nil, false, nil
	}
	if op, is := pathOperators[p.token]; is {
		if err := p.mayLook(); err != nil {
			return nil, true, err
		}
		p.next()
		f, err := p.not()
		return logic.Of(op, f), true, err
	}
	quantifier, is := quantifiers[p.token[0]]
	op, with := pathOperators[p.token[1:]]
	if !is || len(p.token) > 1 && !with {
		return nil, false, nil
	}
	if p.language != branching {
		return nil, true, fmt.Errorf("%s at character %d says of which paths, which formulas of "+
			"ctl do", p.token, p.character())
	}
	outer := p.path
	p.path = true
	p.next()
	f, err = p.not()
	if p.path = outer; with {
		f = logic.Of(op, f)
	}
	return logic.Of(quantifier, f), true, err
}

// not reads a formula without and and or, but within parentheses.
func (p *parser) not() (f *logic.Formula, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	if f, ok, err := p.looking(); ok {
		return f, err
	}
	switch {
	case p.is("not", "!"):
		p.next()
		if f, err = p.not(); err != nil {
			return nil, err
		}
		return logic.Of(logic.Not, f), nil
	case p.is("("), p.language == branching && p.is("["):
		closing := map[string]string{"(": ")", "[": "]"}[p.token]
		p.next()
		if f, err = p.iff(); err != nil {
			return nil, err
		}
		return f, p.expect(closing)
	case p.is("true", "false"):
		f = logic.Truth(p.token == "true")
		p.next()
		return f, nil
	case p.is("deadlock"):
		p.next()
		return logic.Leaf(Stuck{}), nil
	case p.is("enabled"):
		return p.enabled()
	}
	return p.comparison()
}

// enabled reads enabled(t, u).
func (p *parser) enabled() (*logic.Formula, error) {
	var all Enabled
	p.next()
	err := p.arguments("transition", p.names.transitions, p.names.transition, func(t int) {
		all = append(all, t)
	})
	return logic.Leaf(all), err
}

// arguments reads names and patterns of names in parentheses, and has use called with what they
// stand for.
func (p *parser) arguments(what string, known map[string]int, find func(id string) (int, error),
	use func(i int)) error {
	for first := "("; first == "(" || p.is(","); first = "," {
		if err := p.expect(first); err != nil {
			return err
		}
		id, err := p.name(what)
		if err != nil {
			return err
		}
		if !p.quoted && strings.Contains(id, "*") {
			all := matching(id, known)
			if len(all) == 0 {
				return fmt.Errorf("the net has no %s whose id matches %s", what, id)
			}
			for _, i := range all {
				use(i)
			}
		} else {
			i, err := find(id)
			if err != nil {
				return err
			}
			use(i)
		}
		p.next()
	}
	return p.expect(")")
}

// comparison reads two sums with a sign between them.
func (p *parser) comparison() (*logic.Formula, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	sign := p.token
	if !p.is("<=", "<", ">=", ">", "=", "==", "!=") {
		return nil, p.wrong("<=, <, >=, >, = or !=")
	}
	p.next()
	right, err := p.sum()
	if err != nil {
		return nil, err
	}
	atMost := logic.Leaf(&AtMost{Left: left, Right: right})
	atLeast := logic.Leaf(&AtMost{Left: right, Right: left})
	switch sign {
	case "<=":
		return atMost, nil
	case ">=":
		return atLeast, nil
	case "<":
		return logic.Of(logic.Not, atLeast), nil
	case ">":
		return logic.Of(logic.Not, atMost), nil
	case "!=":
		return logic.Of(logic.Not, logic.Of(logic.And, atMost, atLeast)), nil
	}
	return logic.Of(logic.And, atMost, atLeast), nil
}

// sum reads terms with + and - between them.
func (p *parser) sum() (s Sum, err error) {
	if s, err = p.terms(); err != nil {
		return s, err
	}
	weights := int64(0)
	for _, t := range s.Terms {
		if weights += max(t.Weight, -t.Weight); weights > maxWeights {
			return s, fmt.Errorf("the factors of a sum come to more than %d", int64(maxWeights))
		}
	}
	return s, nil
}

func (p *parser) terms() (s Sum, err error) {
	sign := int64(1)
	if p.is("-") {
		sign = -1
		p.next()
	}
	for {
		if err = p.term(&s, sign); err != nil {
			return s, err
		}
		switch {
		case p.is("+"):
			sign = 1
		case p.is("-"):
			sign = -1
		default:
			return s, nil
		}
		p.next()
	}
}

// term reads a number, tokens(p, q), or a number times that.
func (p *parser) term(s *Sum, factor int64) error {
	if n, err := strconv.ParseInt(p.token, 10, 64); err == nil && !p.quoted {
		if n > maxNumber || n < -maxNumber {
			return fmt.Errorf("%d is more than %d", n, int64(maxNumber))
		}
		factor *= n
		p.next()
		if !p.is("*") {
			s.Constant += factor
			return nil
		}
		p.next()
	}
	if !p.is("tokens") {
		return p.wrong("tokens(PLACE) or a number")
	}
	p.next()
	return p.arguments("place", p.names.places, p.names.place, func(place int) {
		s.add(place, factor)
	})
}
