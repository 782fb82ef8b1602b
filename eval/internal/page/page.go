package page

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// block is a table of the page with its markers.
var block = regexp.MustCompile(`(?ms)^<!-- begin: (\S+) -->\n(.*?)^<!-- end: (\S+) -->\n`)

// Write gives the page of a file with all tables as they are printed now.
func Write(file, page string, f *Figures) (string, error) {
	f.errs = nil
	tables, absent := Tables[file], map[string]bool{}
	if tables == nil {
		f.fail("%s is no page with tables", file)
	}
	for name := range tables {
		absent[name] = true
	}
	written := block.ReplaceAllStringFunc(page, func(text string) string {
		part := block.FindStringSubmatch(text)
		name := part[1]
		rows, known := tables[name]
		if !known || part[3] != name || !absent[name] {
			f.fail("table %s is unknown, or there twice, or its end has another name", name)
			return text
		}
		absent[name] = false
		is := f.once(name, func() string { return markdown(rows(f)) })
		return fmt.Sprintf("<!-- begin: %s -->\n%s<!-- end: %s -->\n", name, is, name)
	})
	for name, is := range absent {
		if is {
			f.fail("table %s is not in the page", name)
		}
	}
	return written, errors.Join(f.errs...)
}

// markdown writes rows, of which the first is the head.
func markdown(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		for _, cell := range row {
			out.WriteString("| " + strings.TrimLeft(cell+" ", " "))
		}
		out.WriteString("|\n")
		if i == 0 {
			out.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return out.String()
}

// Check compares the page of a file with the printed figures. It reports tables that differ,
// phrases that the page lacks, and figures of the prose that are in no phrase.
func Check(file, page string, f *Figures) []error {
	written, err := Write(file, page, f)
	var errs []error
	if err != nil {
		errs = append(errs, err)
	}
	if written != page {
		errs = append(errs, fmt.Errorf("tables differ from eval/docs/figures: run make figures, "+
			"or bin/farhash-eval page; the first is near %q", difference(page, written)))
	}
	f.errs = nil
	prose := proseOf(page)
	for _, phrase := range Phrases[file] {
		is := f.once(phrase, func() string { return f.fill(phrase) })
		before, after, ok := cut(prose, is)
		if !ok {
			errs = append(errs, fmt.Errorf("the page does not say %q", is))
			continue
		}
		prose = before + "~" + after
	}
	for _, at := range figure.FindAllStringIndex(prose, -1) {
		from, to := max(0, at[0]-40), min(len(prose), at[1]+20)
		errs = append(errs, fmt.Errorf("%s is in no phrase: ...%s", prose[at[0]:at[1]],
			prose[from:to]))
	}
	return append(errs, f.errs...)
}

// cut is strings.Cut at a phrase that is not a part of longer words or numbers.
func cut(prose, phrase string) (before, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(prose[from:], phrase)
		if i < 0 {
			return "", "", false
		}
		start, end := from+i, from+i+len(phrase)
		before, after = prose[:start], prose[end:]
		if !inWord.MatchString(before[max(0, start-1):]+phrase[:1]) &&
			!inWord.MatchString(phrase[len(phrase)-1:]+after[:min(2, len(after))]) {
			return before, after, true
		}
		from = start + 1
	}
}

// inWord begins with characters between which no word and no number ends.
var inWord = regexp.MustCompile(`^([A-Za-z]|[0-9][.,]?|[.,-])[A-Za-z0-9]`)

// difference is the first line of a page that is not in another.
func difference(page, other string) string {
	is := strings.Split(other, "\n")
	for i, line := range strings.Split(page, "\n") {
		if i >= len(is) || is[i] != line {
			return line
		}
	}
	return ""
}

var (
	// figure is a number that a command may print, or what has been made of one.
	figure = regexp.MustCompile(`\d+(,\d{3})*(\.\d+)?( %| times| million| ns| µs)|` +
		`\d[\d,]*\.\d+|\d{1,3}(,\d{3})+`)
	// apart matches code, targets of links and comments, which are not prose.
	apart = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<!--.*?-->")
	// references are numbers of a paper's sections.
	references = regexp.MustCompile(`\b(OP|LP|MD|NE) \d(\.\d)?`)
)

// proseOf is the prose of a page in one line, without tables.
func proseOf(page string) string {
	var words []string
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			words = append(words, strings.Fields(line)...)
		}
	}
	prose := apart.ReplaceAllString(strings.Join(words, " "), "_")
	return references.ReplaceAllString(prose, "$1")
}
