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

// ParseFormula reads a formula about net.
func ParseFormula(net *petri.Net, text string) (*logic.Formula, error) {
	p := &parser{names: namesOf(net), text: text}
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
	return fmt.Errorf("%q at character %d is not %s", p.token,
		utf8.RuneCountInString(p.text[:p.begin])+1, want)
}

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
func (p *parser) and() (*logic.Formula, error) { return p.list(logic.And, p.not, "and", "&&") }

// not reads a formula without and and or, but within parentheses.
func (p *parser) not() (f *logic.Formula, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.is("not", "!"):
		p.next()
		if f, err = p.not(); err != nil {
			return nil, err
		}
		return logic.Of(logic.Not, f), nil
	case p.is("("):
		p.next()
		if f, err = p.iff(); err != nil {
			return nil, err
		}
		return f, p.expect(")")
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
