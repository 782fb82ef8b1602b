//go:build linux

package torture

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// hostile are texts that no flag expects.
var hostile = []string{"", " ", "0", "-1", "-0", "1", "2", "3", "7", "1e308", "-1e308", "NaN",
	"Inf", "0x10", "1.5", "2147483648", "9223372036854775807", "18446744073709551616",
	"-9223372036854775808", "1h", "-1s", "1ns", "9999999h", "2^62", "2^-1", "1KiB", "16EiB",
	"99999999999EiB", "1,2,,3", ",", "true", "maybe", "\x01", "\xff\xfe", "ä", "日本語", "🦆",
	"a\nb", "%s%n%d", "--help", "-", "--", "-n", ".", "no/such/folder", "x.svg", "x.png",
	"127.0.0.1:1", "[::1]:70000", "localhost:", "$(true)", "'\"", strings.Repeat("9", 400),
	strings.Repeat("x", 100_000), strings.Repeat("1,", 30_000) + "1"}

var (
	flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)( \w+)?  `)
	listing  = regexp.MustCompile(`(?ms)^Available Commands:\n(.*?)\n\n`)
	nameLine = regexp.MustCompile(`(?m)^  (\w+)`)
)

// help is what a command says of itself.
type help struct {
	path  []string // the names of the command
	flags []string // those that take no value end in "="
	words []string // of the text: most of what flags take is among them
}

// commands are farhash and all its commands.
func (r *round) commands(path ...string) ([]help, error) {
	c, err := r.run(append(append([]string{r.programs["plain"]}, path...), "--help")...)
	if err != nil {
		return nil, err
	}
	text := c.out.String()
	h := help{path: path, words: strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;:()[]|\"", r)
	})}
	for _, m := range flagLine.FindAllStringSubmatch(text, -1) {
		if m[2] == "" {
			m[1] += "="
		}
		h.flags = append(h.flags, m[1])
	}
	all := []help{h}
	if m := listing.FindStringSubmatch(text); m != nil {
		for _, name := range nameLine.FindAllStringSubmatch(m[1], -1) {
			below, err := r.commands(append(path[:len(path):len(path)], name[1])...)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// value draws what might be given for a flag. Nothing outside of the folder is named that could
// be written, or reached beyond this machine.
func (r *round) value(h help) string {
	word := pick(r, h.words...)
	if r.IntN(2) == 0 || strings.Contains(word, "/") || strings.Contains(word, "10.0.") {
		return pick(r, hostile...)
	}
	return word
}

// strikeFlags gives commands flags that nobody would.
func strikeFlags(r *round) error {
	all, err := r.commands()
	if err != nil {
		return err
	}
	m, err := r.small()
	if err != nil {
		return err
	}
	for range 10 {
		h := pick(r, all...)
		line := append([]string{r.programs["plain"]}, h.path...)
		if slices.Contains(h.flags, "buckets") { // or it takes a GiB, and its time to end
			line = append(line, "--buckets=64Ki")
		}
		for range r.IntN(4) {
			flag := pick(r, h.flags...)
			name, bare := strings.CutSuffix(flag, "=")
			switch {
			case bare && r.IntN(4) != 0:
				line = append(line, "--"+name)
			case r.IntN(8) == 0:
				line = append(line, "--"+name, r.value(h))
			default:
				line = append(line, "--"+name+"="+r.value(h))
			}
		}
		if len(h.path) > 0 && h.path[0] == "run" {
			program := pick(r, "true", "false", pick(r, hostile...), r.programs["plain"])
			line = append(line, "--", program, "explore", m.path)
		} else {
			for range r.IntN(3) {
				line = append(line, pick(r, m.path, m.path, r.value(h)))
			}
		}
		// What is right may take its time.
		if err := r.command(nil, line...).run(1 + time.Duration(r.IntN(5e8))); err != nil {
			return err
		}
	}
	return nil
}
