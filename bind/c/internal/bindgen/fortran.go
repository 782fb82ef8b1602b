package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	fortranBody = regexp.MustCompile(`(?m)^ *integer\(c_int\) function (farhash_\w+)\(`)
	fortranText = regexp.MustCompile(`(?m)^ *function (farhash_\w+)\(`)
)

// Types of Fortran, and their zero.
var fortranTypes = map[string][2]string{
	"int": {"integer(c_int)", "0"}, "size_t": {"integer(c_size_t)", "0"},
	"int32_t": {"integer(c_int32_t)", "0"}, "uint32_t": {"integer(c_int32_t)", "0"},
	"int64_t": {"integer(c_int64_t)", "0"}, "uint64_t": {"integer(c_int64_t)", "0"},
	"uint8_t": {"integer(c_int8_t)", "0"}, "double": {"real(c_double)", "0"},
	"char": {"character(kind=c_char)", "c_null_char"}, "pointer": {"type(c_ptr)", "c_null_ptr"},
}

// fortran is the module: a template whose lines "  !@ NAME" stand for what is generated.
func (h *header) fortran(template string) (string, error) {
	byHand := map[string]bool{}
	for _, form := range []*regexp.Regexp{fortranBody, fortranText} {
		for _, f := range form.FindAllStringSubmatch(template, -1) {
			byHand[f[1]] = true
		}
	}
	var interfaces, paths []string
	for _, f := range h.functions {
		name := f.name
		if byHand[name] || f.takesPath() {
			name += "_c"
		}
		interfaces = append(interfaces, h.fortranInterface(f, name))
		if f.takesPath() && !byHand[f.name] {
			paths = append(paths, h.fortranPath(f))
		}
	}
	out := "! " + notice + "\n! What is not from there is in farhash.f90.in.\n!\n" + template
	for place, parts := range map[string][]string{"constants": h.fortranConstants(),
		"types": h.fortranTypes(), "interfaces": interfaces, "paths": paths} {
		mark := "  !@ " + place + "\n"
		if strings.Count(out, mark) != 1 {
			return "", fmt.Errorf("bindgen: farhash.f90.in has no place %q", mark)
		}
		out = strings.Replace(out, mark, strings.Join(parts, "\n"), 1)
	}
	return out, nil
}

func (h *header) fortranConstants() (parts []string) {
	for _, enum := range h.enums {
		var list []string
		for _, c := range enum {
			list = append(list, strings.ToLower(c.name)+" = "+c.value)
		}
		parts = append(parts, "  enum, bind(c)\n"+fill("    enumerator :: ", list, "\n", "      ",
			" &")+"  end enum\n")
	}
	var list string
	for _, c := range h.defines {
		if n, err := strconv.ParseInt(c.value, 0, 64); err == nil {
			list += fmt.Sprintf("  integer(c_int64_t), parameter :: %s = %d_c_int64_t\n",
				strings.ToLower(c.name), n)
		}
	}
	return append(parts, list)
}

func (h *header) fortranTypes() (parts []string) {
	for _, s := range h.structs {
		text := "  type, bind(c) :: " + s.name + "\n"
		for _, f := range s.fields {
			base := f.base
			if f.pointer {
				base = "pointer"
			}
			kind, known := fortranTypes[base]
			length, zero := "", " = "+kind[1]
			if !known {
				kind[0], zero = "type("+base+")", ""
			}
			if f.length != "" {
				length = "(" + f.length + ")"
			}
			text += fmt.Sprintf("    %s :: %s%s%s\n", kind[0], f.name, length, zero)
		}
		parts = append(parts, text+"  end type\n")
	}
	return parts
}

func (h *header) fortranInterface(f *function, name string) string {
	result := "integer(c_int)"
	if f.result != "int" {
		result = "type(c_ptr)"
	}
	bind := " bind(c)"
	if name != f.name {
		bind = fmt.Sprintf(" bind(c, name='%s')", f.name)
	}
	text := fill("    "+result+" function "+name+"(", f.names(), ")", "      ", " &")
	if lines := strings.Split(text, "\n"); len(lines[len(lines)-1]+bind) > 97 {
		text += " &\n     "
	}
	text += bind + "\n      import\n"
	for _, byValue := range []bool{true, false} { // lengths come before the arrays
		for _, p := range f.params {
			if p.byValue() == byValue {
				text += "      " + h.fortranArgument(f, p, "(*)") + "\n"
			}
		}
	}
	return text + "    end function\n"
}

func (f *function) names() (names []string) {
	for _, p := range f.params {
		names = append(names, p.name)
	}
	return names
}

func (p param) byValue() bool { return p.callback == nil && p.stars == 0 && !p.array }

// fortranArgument declares an argument. A string is as long as text says.
func (h *header) fortranArgument(f *function, p param, text string) string {
	kind, known := fortranTypes[p.base]
	if !known {
		kind[0] = "type(" + p.base + ")"
	}
	intent, length := "out", ""
	if p.isConst {
		intent = "in"
	} else if p.both || p.array && f.length(p) == "" { // Fortran would have to reset all of it
		intent = "inout"
	}
	switch {
	case p.callback != nil:
		return "type(c_funptr), value :: " + p.name
	case p.byValue():
		return kind[0] + ", value :: " + p.name
	case p.stars == 2:
		return "type(c_ptr), intent(out) :: " + p.name
	case p.base == "void" || h.isHandle(p):
		return "type(c_ptr), value :: " + p.name
	case p.base == "char":
		length = text
	case p.array && f.length(p) != "":
		length = "(" + f.length(p) + ")"
	case p.array:
		length = "(*)"
	}
	if p.mayBeNull {
		intent += "), optional"
	} else {
		intent += ")"
	}
	return fmt.Sprintf("%s, intent(%s :: %s%s", kind[0], intent, p.name, length)
}

// fortranPath is the function that takes any string as a path.
func (h *header) fortranPath(f *function) string {
	text := fill("  integer(c_int) function "+f.name+"(", f.names(), ")\n", "    ", " &")
	var passed []string
	path := ""
	for _, p := range f.params {
		if p.isPath() {
			path = p.name
			text += "    character(len=*), intent(in) :: " + p.name + "\n"
			passed = append(passed, "c_path("+p.name+")")
		} else {
			text += "    " + h.fortranArgument(f, p, "") + "\n"
			passed = append(passed, p.name)
		}
	}
	call := fmt.Sprintf("    %s = explained(%s_c(", f.name, f.name)
	return text + fill(call, passed, "), "+path+")", "      ", " &") + "\n  end function\n"
}
