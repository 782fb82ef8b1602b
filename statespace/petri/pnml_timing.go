package petri

import (
	"cmp"
	"encoding/xml"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A net of a tool may have timing: tokens grow old, and transitions wait or must hurry. Priorities
// order transitions. Both take away markings that the net would reach without them. So the parser
// refuses them, unless the caller leaves them out.

// untimed is what tools write if there is no timing. Every other value means timing.
var untimed = map[string]string{
	"invariant": "<inf",  // of TAPAAL: the age that a token may have
	"urgent":    "false", // of TAPAAL: no time passes while the transition is enabled
	"timed":     "false", // of PIPE: the transition waits for those without timing
	"rate":      "1",     // of PIPE: how soon a transition fires, or how often
	// Of PIPE: whether tokens are served at the same time.
	"infiniteServer": "false",
	// Of TAPAAL: when a transition fires, at random. The others are parameters.
	"distribution": "constant", "value": "1", "weight": "1",
}

// isParameter reports whether an attribute belongs to a distribution of TAPAAL, so that it says
// nothing without that.
func isParameter(e xml.StartElement, name string) bool {
	switch name {
	case "a", "b", "c", "p", "mean", "stddev", "shape", "scale", "logMean", "logStddev",
		"firingMode":
		return slices.ContainsFunc(e.Attr, func(a xml.Attr) bool {
			return own(e, a) && a.Name.Local == "distribution"
		})
	}
	return false
}

// timing refuses timing or a priority. If the caller leaves these out, it tells the caller, and
// returns nil.
func (p *parser) timing(line int, format string, args ...any) error {
	if leave := p.src.options.LeaveOut; leave != nil {
		leave(p.errorAt(line, format, args...))
		return nil
	}
	err := p.errorAt(line, format, args...)
	err.Msg += "; timing and priorities are not supported; farhash explore --untimed leaves them " +
		"out (Options.LeaveOut)"
	return err
}

// delay refuses what an attribute or an element says of timing.
func (p *parser) delay(owner, name, value string) error {
	text, plain := strings.ReplaceAll(strings.Trim(value, xmlSpace), " ", ""), untimed[name]
	if text == "" || strings.EqualFold(text, plain) {
		return nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && plain == "1" && n == 1 {
		return nil
	}
	return p.timing(p.line, "%s has %s=%s, which is timing", owner, name, quote(value))
}

// delayLabel is delay of an element of PIPE.
func (p *parser) delayLabel(e xml.StartElement, owner string) error {
	line := p.line
	value, err := p.plainLabel(e)
	if err != nil {
		return err
	}
	p.line = line
	return p.delay(owner, e.Name.Local, value)
}

// ages refuses an initial marking whose tokens have ages, of TAPAAL.
func (p *parser) ages(e xml.StartElement, owner string) error {
	if err := p.timing(p.line, "%s has <%s>, which is timing", owner, e.Name.Local); err != nil {
		return err
	}
	return p.skip()
}

// isInterval matches an interval of two bounds without blanks.
var isInterval = regexp.MustCompile(`^[[(]([\w.]+),([\w.]+)[])]$`)

// interval reports whether an inscription is an interval of TAPAAL, the ages of the tokens that an
// arc takes, instead of a weight. It refuses one that not all ages are in.
func (p *parser) interval(a arc, text string, line int) (is bool, err error) {
	text = strings.ReplaceAll(text, " ", "")
	bounds := isInterval.FindStringSubmatch(text)
	if bounds == nil || !p.isTime(bounds[1]) || !p.isTime(bounds[2]) {
		return false, nil
	}
	if text == "[0,inf)" {
		return true, nil
	}
	return true, p.timing(line, "the arc %s has the interval %s, which is timing", p.arcName(a),
		quote(text))
}

func (p *parser) isTime(bound string) bool {
	_, err := strconv.ParseFloat(bound, 64) // also of inf
	return err == nil || p.constants[bound] != ""
}

// rank is the priority of a transition, and where it stands.
type rank struct {
	priority string
	line     int
}

// priority refuses transitions with priorities that differ: one of a low priority waits for those
// of a higher one. PIPE takes one that is left out for 1.
func (p *parser) priority(id string, r rank) error {
	r.priority = cmp.Or(r.priority, "1")
	if p.first.line == 0 {
		p.first = r
	}
	if r.priority == p.first.priority {
		return nil
	}
	return p.timing(r.line, "transition %s has the priority %s, unlike %s in line %d", quote(id),
		quote(r.priority), quote(p.first.priority), p.first.line)
}
