package main

import (
	"fmt"
	"regexp"
	"strings"
)

// inC reads the variable of the mutant that is on, in a file in C.
const inC = `extern char *getenv(const char *);
extern int strcmp(const char *, const char *);
static int overlay_mutant(const char *name) {
	static const char *on;
	if (!on)
		on = getenv("` + variableName + `") ? getenv("` + variableName + `") : "";
	return strcmp(on, name) == 0;
}
`

// withMutantsInC has, for each mutant, a copy of the function that it changes, before the function,
// which calls the copy while the mutant is on.
func withMutantsInC(file, text string, mutants []*mutant) (string, error) {
	first := len(text)
	for _, m := range mutants {
		for _, h := range m.hunks {
			if begin, _, found := functionInC(text, h.function); h.file == file && found {
				first = min(first, begin)
			}
		}
	}
	if first == len(text) {
		return text, nil
	}
	text = text[:first] + inC + text[first:]
	for number, m := range mutants {
		for _, h := range m.hunks {
			if h.file != file || h.function == "" {
				continue
			}
			begin, end, found := functionInC(text, h.function)
			if !found {
				return "", fmt.Errorf("mutant %q: %s has no function %s", m.name, file, h.function)
			}
			original := text[begin:end]
			changed, err := h.apply(original)
			if err != nil {
				return "", fmt.Errorf("mutant %q: %w", m.name, err)
			}
			copyName := fmt.Sprintf("%s_overlay%d", h.function, number)
			changed = strings.Replace(changed, h.function+"(", copyName+"(", 1)
			if !strings.HasPrefix(changed, "static ") {
				changed = "static " + changed
			}
			brace := strings.IndexByte(original, '{') + 1
			call := fmt.Sprintf(" if (overlay_mutant(%q)) %s", m.name,
				callInC(original[:brace-1], h.function, copyName))
			text = text[:begin] + changed + original[:brace] + call +
				original[brace:] + text[end:]
		}
	}
	return text, nil
}

// functionInC is the place of the definition of a function: from a line that has its name, and
// begins with a letter, to the first line after it that ends with a brace in the first column, or
// to the end of the line if the function is in one.
func functionInC(text, name string) (begin, end int, found bool) {
	head := regexp.MustCompile(`(?m)^[A-Za-z][^;{}()\n]*\b` + name + `\([^;{}]*\{`)
	place := head.FindStringIndex(text)
	if place == nil {
		return 0, 0, false
	}
	line := text[place[0]:]
	if one, _, _ := strings.Cut(line, "\n"); strings.HasSuffix(one, "}") {
		return place[0], place[0] + len(one) + 1, true
	}
	brace := strings.Index(line, "\n}\n")
	if brace < 0 {
		return 0, 0, false
	}
	return place[0], place[0] + brace + len("\n}\n"), true
}

var (
	parameterInC = regexp.MustCompile(`(\w+)(?:\[\w*\])*\s*$`)
	functionType = regexp.MustCompile(`\(\*(\w+)\)\(`)
)

// callInC calls the copy of a function with its own parameters, and returns.
func callInC(head, name, copyName string) string {
	result, list, _ := strings.Cut(head, name+"(")
	list = strings.TrimSpace(list)
	list = strings.TrimSuffix(list, ")")
	depth, parameters, from := 0, []string{}, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parameters = append(parameters, list[from:i])
			from = i + 1
		}
	}
	var names []string
	for _, p := range parameters {
		if m := functionType.FindStringSubmatch(p); m != nil {
			names = append(names, m[1])
		} else if m := parameterInC.FindStringSubmatch(p); m != nil && m[1] != "void" {
			names = append(names, m[1])
		}
	}
	call := copyName + "(" + strings.Join(names, ", ") + ");"
	if strings.TrimSpace(strings.TrimPrefix(result, "static ")) == "void" {
		return "{ " + call + " return; };" // does not end the line as a function in one line does
	}
	return "return " + call
}
