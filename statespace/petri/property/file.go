package property

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/farhash/farhash/internal/system/regular"
	"github.com/farhash/farhash/statespace/petri"
)

// line is a property of a file of formulas: perhaps a name, a kind and what it asks.
var line = regexp.MustCompile(`^(?:(\S.*?)\s*:\s+)?(always|sometimes|bound|ltl|ctl)\s+(.*\S)$`)

// ReadFormulas reads the properties of a file of text. A line has one of
//
//	always FORMULA
//	sometimes FORMULA
//	bound SUM
//	ltl FORMULA
//	ctl FORMULA
//
// and before it a name and a colon, if it is to have one. Empty lines and lines that begin with #
// are comments.
func ReadFormulas(net *petri.Net, path string) ([]Property, error) {
	f, err := regular.OpenStream(path)
	if err != nil {
		return nil, err // names the path already
	}
	defer f.Close() // nothing was written: an error of Close loses nothing
	all, err := readFormulas(net, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func readFormulas(net *petri.Net, r io.Reader) (all []Property, err error) {
	const longest = 1 << 24
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	for number := 1; lines.Scan(); number++ {
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), byteOrder))
		if text == "" || text[0] == '#' {
			continue
		}
		p, err := parseLine(net, text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, p)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line has more than %d bytes", longest)
	}
	if len(all) == 0 && lines.Err() == nil {
		return nil, errors.New("the file has no formula")
	}
	return all, lines.Err()
}

// parseLine reads a property as a line of [ReadFormulas] has it. Without a name the text is the
// name.
func parseLine(net *petri.Net, text string) (Property, error) {
	parts := line.FindStringSubmatch(text)
	if parts == nil {
		return Property{}, fmt.Errorf("%q is not always FORMULA, sometimes FORMULA, bound SUM, "+
			"ltl FORMULA or ctl FORMULA", text)
	}
	p, err := Parse(net, parts[2], parts[3])
	if p.Name = parts[1]; p.Name == "" {
		p.Name = parts[2] + " " + parts[3]
	}
	return p, err
}

// Parse reads a property without a name: what follows one of the words always, sometimes, bound,
// ltl and ctl.
func Parse(net *petri.Net, word, text string) (p Property, err error) {
	switch word {
	case "bound":
		p.Kind = Bound
		p.Sum, err = ParseSum(net, text)
	case "ltl":
		return ParseLTL(net, text)
	case "ctl":
		return ParseCTL(net, text)
	case "sometimes":
		p.Kind = Sometimes
		p.Formula, err = ParseFormula(net, text)
	case "always":
		p.Formula, err = ParseFormula(net, text)
	default:
		err = fmt.Errorf("%q is not always, sometimes, bound, ltl or ctl", word)
	}
	return p, err
}
