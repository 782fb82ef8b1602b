package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A source is a file of a package.
type source struct {
	path     string
	original string
	text     string // with the static mutant in place
}

func (s *source) base() string { return filepath.Base(s.path) }

// An edit replaces part of a text.
type edit struct {
	begin, end int
	text       string
}

// replaced is text after all edits, none of which overlap.
func replaced(text string, edits []edit) string {
	slices.SortFunc(edits, func(a, b edit) int { return b.begin - a.begin })
	for _, e := range edits {
		text = text[:e.begin] + e.text + text[e.end:]
	}
	return text
}

// switches has the variables that the sources of a package use, by name.
type switches struct {
	all         []*mutant
	kernels     map[string]*kernel
	marks, used map[string]string // used: of mutants
}

func newSwitches(mutants []*mutant) *switches {
	return &switches{all: mutants, marks: map[string]string{}, used: map[string]string{}}
}

// variable is the one for a name, made when it is asked for first.
func variable(of map[string]string, kind, name string) string {
	if of[name] == "" {
		of[name] = fmt.Sprintf("overlay%s%d", kind, len(of))
	}
	return of[name]
}

func (s *switches) mutant(name string) string { return variable(s.used, "Mutant", name) }

var markComment = regexp.MustCompile(`// mark: (.*)`)

// withMarks is the text with a call in place of each mark.
func (s *switches) withMarks(pkg, text string) string {
	return markComment.ReplaceAllStringFunc(text, func(comment string) string {
		name := pkg + ": " + markComment.FindStringSubmatch(comment)[1]
		return variable(s.marks, "Mark", name) + ".Hit()"
	})
}

// withMutants has, for each mutant, a copy of the functions that it changes, which these call while
// the mutant is switched on.
func (s *switches) withMutants(src source) (string, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, src.path, src.text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	var edits []edit
	copies := ""
	for _, decl := range tree.Decls {
		fn, is := decl.(*ast.FuncDecl)
		if !is {
			continue
		}
		name, calls := functionName(fn), ""
		body := src.text[offset(fn.Pos()):offset(fn.End())]
		if k := s.kernelWith(fn, src); k != nil {
			at := offset(fn.Name.Pos()) - offset(fn.Pos())
			text, declarations := k.dispatched(s, fn, body, at)
			edits = append(edits, edit{offset(fn.End()), offset(fn.End()), text})
			edits = append(edits, withoutDirectives(fn, offset)...)
			copies += declarations
			continue
		}
		for _, m := range s.all {
			changed, err := m.changed(filepath.Base(src.path), name, body)
			if err != nil {
				return "", fmt.Errorf("mutant %q: %w", m.name, err)
			} else if changed == body {
				continue
			}
			sw := s.mutant(m.name)
			copyName := fn.Name.Name + sw
			at := offset(fn.Name.Pos()) - offset(fn.Pos())
			copies += "\n" + directives(fn) + changed[:at] + copyName +
				changed[at+len(fn.Name.Name):] + "\n"
			calls += fmt.Sprintf(" if %s { %s };", sw, callOf(fn, copyName))
		}
		if calls != "" {
			at := offset(fn.Body.Lbrace) + 1
			edits = append(edits, edit{at, at, calls})
			edits = append(edits, namedParameters(fn, offset)...)
		}
	}
	return replaced(src.text, edits) + copies, nil
}

// kernelWith is the kernel that has the function which fn declares, or nil.
func (s *switches) kernelWith(fn *ast.FuncDecl, src source) *kernel {
	for _, k := range s.kernels {
		if k.declares(src.base(), fn) {
			return k
		}
	}
	return nil
}

// changed is the text of a function after the hunks of the mutant that are for it.
func (m *mutant) changed(file, function, text string) (string, error) {
	for _, h := range m.hunks {
		if h.file == file && h.function == function {
			var err error
			if text, err = h.apply(text); err != nil {
				return "", err
			}
		}
	}
	return text, nil
}

// functionName is "Function" or "Type.Method".
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// directives are the comments for the compiler.
func directives(fn *ast.FuncDecl) string {
	lines := ""
	if fn.Doc != nil {
		for _, c := range fn.Doc.List {
			if strings.HasPrefix(c.Text, "//go:") {
				lines += c.Text + "\n"
			}
		}
	}
	return lines
}

// withoutDirectives takes the comments for the compiler away, which allow no body.
func withoutDirectives(fn *ast.FuncDecl, offset func(token.Pos) int) []edit {
	var edits []edit
	if fn.Doc != nil {
		for _, c := range fn.Doc.List {
			if strings.HasPrefix(c.Text, "//go:") {
				edits = append(edits, edit{offset(c.Pos()), offset(c.End()), ""})
			}
		}
	}
	return edits
}

// fields are the receiver and the parameters.
func fields(fn *ast.FuncDecl) []*ast.Field {
	if fn.Recv == nil {
		return fn.Type.Params.List
	}
	return append(slices.Clone(fn.Recv.List), fn.Type.Params.List...)
}

// namedParameters names the receiver and the parameters that have no name.
func namedParameters(fn *ast.FuncDecl, offset func(token.Pos) int) []edit {
	var edits []edit
	for i, f := range fields(fn) {
		if len(f.Names) == 0 {
			at := offset(f.Type.Pos())
			edits = append(edits, edit{at, at, fmt.Sprintf("unnamed%d ", i)})
		}
		for j, name := range f.Names {
			if name.Name == "_" {
				edits = append(edits, edit{offset(name.Pos()), offset(name.End()),
					fmt.Sprintf("blank%d_%d", i, j)})
			}
		}
	}
	return edits
}

// callOf calls the copy of a function with its own parameters, and returns.
func callOf(fn *ast.FuncDecl, copyName string) string {
	var names []string
	for i, f := range fields(fn) {
		if len(f.Names) == 0 {
			names = append(names, fmt.Sprintf("unnamed%d", i))
		}
		for j, name := range f.Names {
			if name.Name == "_" {
				names = append(names, fmt.Sprintf("blank%d_%d", i, j))
			} else {
				names = append(names, name.Name)
			}
		}
		if _, variadic := f.Type.(*ast.Ellipsis); variadic {
			names[len(names)-1] += "..."
		}
	}
	callee := copyName
	if fn.Recv != nil {
		callee, names = names[0]+"."+copyName, names[1:]
	} else if fn.Type.TypeParams != nil {
		var types []string
		for _, f := range fn.Type.TypeParams.List {
			for _, name := range f.Names {
				types = append(types, name.Name)
			}
		}
		callee += "[" + strings.Join(types, ", ") + "]"
	}
	call := callee + "(" + strings.Join(names, ", ") + ")"
	if fn.Type.Results == nil {
		return call + "; return"
	}
	return "return " + call
}

// declarations is a file of the package with the variables of its marks and mutants.
func (s *switches) declarations(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", pkg)
	if len(s.used) > 0 {
		fmt.Fprintf(&b, "import \"os\"\n\n")
	}
	if len(s.marks) > 0 {
		fmt.Fprintf(&b, "import %q\n\n", module+"/internal/testkit/mark")
	}
	for _, name := range slices.Sorted(maps.Keys(s.marks)) {
		fmt.Fprintf(&b, "var %s = mark.New(%q)\n", s.marks[name], name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.used)) {
		fmt.Fprintf(&b, "var %s = os.Getenv(%q) == %q\n", s.used[name], variableName, name)
	}
	return b.String()
}

// packageName is the name in the package clause.
func packageName(text string) string {
	tree, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return tree.Name.Name
}

// hasFunction reports whether a file has the function of that name.
func hasFunction(file, text, name string) bool {
	if filepath.Ext(file) == ".c" {
		_, _, found := functionInC(text, name)
		return found
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	return err == nil && slices.ContainsFunc(tree.Decls, func(d ast.Decl) bool {
		fn, is := d.(*ast.FuncDecl)
		return is && functionName(fn) == name
	})
}
