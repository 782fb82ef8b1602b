package main

import (
	"fmt"
	"regexp"
	"strings"
)

// header is what farhash.h declares.
type header struct {
	enums     [][]constant
	defines   []constant // of numbers
	structs   []structure
	functions []*function
}

type constant struct{ name, value string }

type structure struct {
	name, doc string
	fields    []field
	written   bool // by the library: no function takes it as const alone
}

type field struct {
	base, name, doc string
	pointer         bool
	length          string // of an array
}

type function struct {
	result, name string
	params       []param
	collective   bool
}

type param struct {
	base, name      string
	isConst, array  bool
	stars           int
	mayBeNull, both bool      // as the comment says: "or NULL", "in and out"
	callback        *function // what it points to, if that is a function
}

// prefix begins every name of the header.
const prefix = "farhash_"

var (
	comment      = regexp.MustCompile(`(?s)/\*.*?\*/`)
	spaces       = regexp.MustCompile(`\s+`)
	plusPlus     = regexp.MustCompile(`(?s)#ifdef __cplusplus.*?#endif\n`)
	definition   = regexp.MustCompile(`^#define (FARHASH_\w+)\s+(?:INT64_C\()?(\w+)`)
	callbackForm = regexp.MustCompile(`^(\w+) \(\*(\w+)\)\((.*)\)$`)
	paramForm    = regexp.MustCompile(`^(const )?(\w+) (\**)(\w+)(\[\])?$`)
	functionForm = regexp.MustCompile(`^(int|const char \*|void) ?(farhash_\w+)\((.*)\)$`)
	fieldForm    = regexp.MustCompile(`^(?:const )?(\w+) (.*)$`)
	nameForm     = regexp.MustCompile(`^(\*?)(\w+)(?:\[(\d+)\])?$`)
)

// parse reads a header. Whatever it does not understand is an error.
func parse(text string) (*header, error) {
	h := &header{}
	text = plusPlus.ReplaceAllString(text, "")
	doc := ""
	for text != "" {
		var one string
		switch {
		case strings.HasPrefix(text, "\n\n"):
			doc, text = "", text[2:]
		case text[0] == '\n' || text[0] == ' ':
			text = text[1:]
		case strings.HasPrefix(text, "/*"):
			one, text = cut(text, "*/")
			doc = prose(one)
		case text[0] == '#':
			one, text = cut(text, "\n")
			if d := definition.FindStringSubmatch(one); d != nil {
				h.defines = append(h.defines, constant{d[1], d[2]})
			}
			text = "\n" + text
		default:
			one, text = statement(text)
			if err := h.declare(one, doc); err != nil {
				return nil, err
			}
		}
	}
	for i := range h.structs {
		h.structs[i].written = h.writes(h.structs[i].name)
	}
	return h, nil
}

// cut divides a text after an end.
func cut(text, end string) (string, string) {
	before, after, _ := strings.Cut(text, end)
	return before + end, after
}

// statement divides a text after its first declaration, without its semicolon.
func statement(text string) (string, string) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case '/':
			i += len(comment.FindString(text[i:])) - 1
		case ';':
			if depth == 0 {
				return text[:i], text[i+1:]
			}
		}
	}
	return text, ""
}

// prose is what comments say.
func prose(comments string) string {
	var words []string
	for _, w := range strings.Fields(comments) {
		if w != "/*" && w != "*/" && w != "*" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// bare is code without comments, in one line.
func bare(code string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(comment.ReplaceAllString(code, ""), " "))
}

// declare adds one declaration.
func (h *header) declare(code, doc string) (err error) {
	text := bare(code)
	open, end := strings.Index(code, "{"), strings.LastIndex(code, "}")
	switch {
	case strings.HasPrefix(text, "enum {"):
		h.enums = append(h.enums, constants(bare(code[open+1:end])))
	case strings.HasPrefix(text, "typedef struct") && open >= 0:
		s := structure{name: bare(code[end+1:]), doc: doc}
		s.fields, err = fields(code[open+1 : end])
		h.structs = append(h.structs, s)
	case strings.HasPrefix(text, "typedef "): // a handle
	default:
		var f *function
		if f, err = newFunction(code); err == nil {
			f.collective = strings.Contains(doc, "Collective")
			h.functions = append(h.functions, f)
		}
	}
	return err
}

func constants(text string) (list []constant) {
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), " = ")
		list = append(list, constant{name, value})
	}
	return list
}

// fields reads the inside of a struct. The comment of a field follows it.
func fields(text string) (list []field, err error) {
	for text != "" {
		one, rest := statement(text)
		said := comment.FindString(rest)
		if strings.TrimSpace(rest[:max(strings.Index(rest, said), 0)]) != "" {
			said = "" // a later field has it
		}
		text = strings.Replace(rest, said, "", 1)
		f := fieldForm.FindStringSubmatch(bare(one))
		if f == nil && bare(one) == "" {
			continue
		}
		if f == nil {
			return nil, fmt.Errorf("bindgen: what is the field %q?", bare(one))
		}
		for name := range strings.SplitSeq(f[2], ", ") {
			n := nameForm.FindStringSubmatch(name)
			if n == nil {
				return nil, fmt.Errorf("bindgen: what is the field %q?", name)
			}
			list = append(list, field{base: f[1], name: n[2], pointer: n[1] != "", length: n[3]})
		}
		list[len(list)-1].doc = prose(said)
	}
	return list, nil
}

func newFunction(code string) (*function, error) {
	// The comments of arguments are kept: they mean something.
	text := strings.TrimSpace(spaces.ReplaceAllString(code, " "))
	form := functionForm.FindStringSubmatch(text)
	if form == nil {
		return nil, fmt.Errorf("bindgen: what is %q?", text)
	}
	params, err := newParams(form[3])
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, form[2])
	}
	return &function{result: form[1], name: form[2], params: params}, nil
}

func newParams(text string) (list []param, err error) {
	for text != "" && text != "void" {
		end, depth := len(text), 0
		for i, c := range text {
			if c == '(' {
				depth++
			} else if c == ')' {
				depth--
			} else if c == ',' && depth == 0 && strings.Count(text[:i], "/*") ==
				strings.Count(text[:i], "*/") {
				end = i
				break
			}
		}
		var p param
		if p, err = newParam(text[:end]); err != nil {
			return nil, err
		}
		list, text = append(list, p), strings.TrimSpace(strings.TrimPrefix(text[end:], ","))
	}
	return list, nil
}

func newParam(text string) (param, error) {
	said, code := comment.FindString(text), bare(text)
	p := param{mayBeNull: strings.Contains(said, "or NULL"),
		both: strings.Contains(said, "in and out")}
	if c := callbackForm.FindStringSubmatch(code); c != nil {
		params, err := newParams(c[3])
		p.name, p.callback = c[2], &function{result: c[1], name: c[2], params: params}
		return p, err
	}
	form := paramForm.FindStringSubmatch(code)
	if form == nil {
		return p, fmt.Errorf("bindgen: what is the argument %q", code)
	}
	p.isConst, p.base, p.stars = form[1] != "", form[2], len(form[3])
	p.name, p.array = form[4], form[5] != ""
	return p, nil
}

// ---- What the generators ask ----

// writes reports whether a function writes a struct.
func (h *header) writes(name string) bool {
	for _, f := range h.functions {
		for _, p := range f.params {
			if p.base == name && !p.isConst {
				return true
			}
		}
	}
	return false
}

func (h *header) has(structName string) bool {
	for _, s := range h.structs {
		if s.name == structName {
			return true
		}
	}
	return false
}

// handle is the kind of table, or job, that a function is about: its first argument. Empty: none.
func (h *header) handle(f *function) string {
	if len(f.params) == 0 || !h.isHandle(f.params[0]) {
		return ""
	}
	return strings.TrimPrefix(f.params[0].base, prefix)
}

func (h *header) isHandle(p param) bool {
	return p.stars > 0 && strings.HasPrefix(p.base, prefix) && !h.has(p.base)
}

// makes reports whether a function makes a handle, its last argument.
func (f *function) makes() bool {
	return len(f.params) > 0 && f.params[len(f.params)-1].stars == 2
}

// arg is whether there is an argument of that name, by value.
func (f *function) arg(name string) bool {
	for _, p := range f.params {
		if p.name == name && p.stars == 0 && p.callback == nil {
			return true
		}
	}
	return false
}

// length is the argument that says how long an array is, "" if none does.
func (f *function) length(p param) string {
	switch {
	case f.arg("n_" + p.name):
		return "n_" + p.name
	case f.arg("n"):
		return "n"
	}
	return ""
}

func (p param) isPath() bool { return p.base == "char" && p.isConst }

func (f *function) takesPath() bool {
	for _, p := range f.params {
		if p.isPath() {
			return true
		}
	}
	return false
}

// camel is a name of C without farhash_, as in Go and Python: set_find_or_put is SetFindOrPut.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimPrefix(name, prefix), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// fill joins items by commas, in lines of at most 99 columns. Lines but the first begin with
// indent; all but the last end with broken.
func fill(first string, items []string, last, indent, broken string) string {
	width := func(s string) int { return len(strings.ReplaceAll(s, "\t", "    ")) }
	out, line := "", first
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		} else {
			item += last
		}
		if width(line)+1+width(item)+width(broken) > 99 && i > 0 {
			out, line = out+line+broken+"\n", indent+item
		} else if i > 0 {
			line += " " + item
		} else {
			line += item
		}
	}
	if len(items) == 0 {
		line += last
	}
	return out + line
}
