package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const pythonBegin = `# %s
"""The structs and functions of farhash.h, for ctypes. The library writes those called Raw."""

from __future__ import annotations

from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32,
                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)
from typing import Any, NamedTuple

`

// python is abi.py.
func (h *header) python() string {
	var b strings.Builder
	fmt.Fprintf(&b, pythonBegin, notice)
	for _, c := range h.defines {
		if n, err := strconv.ParseInt(c.value, 0, 64); err == nil {
			fmt.Fprintf(&b, "%s = %d\n", strings.TrimPrefix(c.name, "FARHASH_"), n)
		}
	}
	for _, s := range h.structs {
		b.WriteString(s.named())
		var list []string
		for _, f := range s.fields {
			list = append(list, fmt.Sprintf("(%q, %s)", f.name, h.fieldInPython(f)))
		}
		fmt.Fprintf(&b, "\n\nclass %s(Structure):\n%s\n", h.inPython(s.name),
			fill("    _fields_ = [", list, "]", strings.Repeat(" ", 16), ""))
	}
	b.WriteString("\n\n")
	callbacks := map[string]string{}
	var functions strings.Builder
	for _, f := range h.functions {
		var list []string
		for _, p := range f.params {
			list = append(list, h.argumentInPython(f, p, callbacks))
		}
		first := fmt.Sprintf("    %q: (%s, [", f.name, h.resultInPython(f))
		functions.WriteString(fill(first, list, "]),\n", strings.Repeat(" ", 8), ""))
	}
	for _, name := range slices.Sorted(maps.Keys(callbacks)) {
		fmt.Fprintf(&b, "%s = %s\n", name, callbacks[name])
	}
	fmt.Fprintf(&b, "\nFUNCTIONS: dict[str, tuple[Any, list[Any]]] = {\n%s}\n"+
		"\"\"\"What each function returns and takes.\"\"\"\n", functions.String())
	return b.String()
}

// named is a NamedTuple of the same fields, for statistics: its fields are documented. Empty for
// other structs.
func (s structure) named() string {
	if !strings.HasSuffix(s.name, "_stats") {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n\nclass %s(NamedTuple):\n    \"\"\"%s\"\"\"\n\n", camel(s.name), s.doc)
	for _, f := range s.fields {
		if f.length != "" {
			return "" // not only numbers
		}
		fmt.Fprintf(&text, "    %s: int\n", f.name)
		if f.doc != "" {
			fmt.Fprintf(&text, "    \"\"\"%s.\"\"\"\n", strings.ToUpper(f.doc[:1])+f.doc[1:])
		}
	}
	return strings.TrimSuffix(text.String(), "\n") + "\n"
}

func (h *header) inPython(name string) string {
	for _, s := range h.structs {
		if s.name == name && s.written {
			return "Raw" + camel(name)
		}
	}
	return camel(name)
}

func (h *header) fieldInPython(f field) string {
	text := h.typeInPython(f.base)
	if f.pointer {
		text = "c_void_p"
	}
	if f.pointer && f.base == "char" {
		text = "c_char_p"
	}
	if f.length != "" {
		text += " * " + f.length
	}
	return text
}

func (h *header) typeInPython(base string) string {
	if h.has(base) {
		return h.inPython(base)
	}
	return "c_" + strings.TrimSuffix(base, "_t") + map[bool]string{true: "_t"}[base == "size_t"]
}

func (h *header) resultInPython(f *function) string {
	switch f.result {
	case "int":
		return "c_int"
	case "void":
		return "None"
	}
	return "c_char_p"
}

// argumentInPython is the type of an argument. It adds functions of the program to callbacks, by
// the last word of the function that calls them.
func (h *header) argumentInPython(f *function, p param, callbacks map[string]string) string {
	switch {
	case p.callback != nil:
		var list []string
		for _, q := range p.callback.params {
			list = append(list, h.givenInPython(q))
		}
		name := camel(f.name[strings.LastIndex(f.name, "_")+1:]) + "Function"
		callbacks[name] = fmt.Sprintf("CFUNCTYPE(%s, %s)", h.resultInPython(p.callback),
			strings.Join(list, ", "))
		return name
	case p.stars == 0 && !p.array:
		return h.typeInPython(p.base)
	case p.stars == 2:
		return "POINTER(c_void_p)"
	case p.base == "char", p.base == "void" && p.isConst && !f.arg("n") && !h.isHandle(p):
		return "c_char_p"
	case p.array || p.base == "void" || h.isHandle(p):
		return "c_void_p"
	}
	return "POINTER(" + h.typeInPython(p.base) + ")"
}

// givenInPython is the type of an argument that a function of the program gets.
func (h *header) givenInPython(p param) string {
	switch {
	case p.stars == 2:
		return "POINTER(c_void_p)"
	case p.base == "void" || h.isHandle(p):
		return "c_void_p"
	case p.stars == 1:
		return "POINTER(" + h.typeInPython(p.base) + ")"
	}
	return h.typeInPython(p.base)
}
