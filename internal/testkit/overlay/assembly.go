package main

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A kernel is a file in assembly that has mutants. The file is copied for each of them, with its
// functions under other names. The declaration of such a function in Go becomes a function that
// calls the copy of the mutant that is on, or the original under the name with the suffix Right.
type kernel struct {
	name      string // kernel_amd64.s
	functions []string
	mutants   []*mutant
}

const rightSuffix = "OverlayRight"

// An assembled function begins at a line of its own: TEXT ·search(SB), NOSPLIT, $0-8.
var textLine = regexp.MustCompile(`(?m)^TEXT ·(\w+)\(SB\)`)

// kernelsOf has the kernels of the files in assembly that mutants change, by the names of the
// files.
func kernelsOf(sources []source, mutants []*mutant) map[string]*kernel {
	kernels := map[string]*kernel{}
	for _, src := range sources {
		k := &kernel{name: src.base()}
		for _, m := range mutants {
			if m.changes(k.name) && !m.alone {
				k.mutants = append(k.mutants, m)
			}
		}
		if len(k.mutants) == 0 || filepath.Ext(k.name) != ".s" {
			continue
		}
		for _, match := range textLine.FindAllStringSubmatch(src.text, -1) {
			k.functions = append(k.functions, match[1])
		}
		kernels[k.name] = k
	}
	return kernels
}

// copies writes the file of the kernel, and a copy with each mutant.
func (k *kernel) copies(s *switches, dir, text string, write func(path, text string) error) error {
	stem, architecture := k.split()
	for _, m := range k.mutants {
		changed, err := m.applied(k.name, text)
		if err != nil {
			return err
		}
		sw := s.mutant(m.name)
		path := filepath.Join(dir, stem+"_"+sw+architecture+".s")
		if err := write(path, k.renamed(changed, sw)); err != nil {
			return err
		}
	}
	return write(filepath.Join(dir, k.name), k.renamed(text, rightSuffix))
}

// split is the name of the file before the architecture, and the architecture: "kernel", "_amd64".
func (k *kernel) split() (stem, architecture string) {
	name := strings.TrimSuffix(k.name, ".s")
	at := strings.LastIndexByte(name, '_')
	return name[:at], name[at:]
}

// renamed has the suffix at the name of each function.
func (k *kernel) renamed(text, suffix string) string {
	for _, f := range k.functions {
		text = strings.ReplaceAll(text, "·"+f+"(SB)", "·"+f+suffix+"(SB)")
	}
	return text
}

// declares reports whether fn, of a Go file, is the declaration of a function of the kernel.
func (k *kernel) declares(file string, fn *ast.FuncDecl) bool {
	_, architecture := k.split()
	return fn.Body == nil && slices.Contains(k.functions, fn.Name.Name) &&
		strings.HasSuffix(file, architecture+".go")
}

// dispatched is the body of a declared function, and the declarations of what it calls. The text
// is that of the declaration, with the name at nameAt.
func (k *kernel) dispatched(s *switches, fn *ast.FuncDecl, text string, nameAt int) (
	body, declarations string) {
	declare := func(suffix string) {
		end := nameAt + len(fn.Name.Name)
		declarations += "\n" + directives(fn) + text[:end] + suffix + text[end:] + "\n"
	}
	for _, m := range k.mutants {
		sw := s.mutant(m.name)
		body += fmt.Sprintf(" if %s { %s };", sw, callOf(fn, fn.Name.Name+sw))
		declare(sw)
	}
	declare(rightSuffix)
	return " {" + body + " " + callOf(fn, fn.Name.Name+rightSuffix) + " }", declarations
}
