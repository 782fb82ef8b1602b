package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// generate is what the files below a folder, clib, should be.
func generate(folder string) (map[string]string, error) {
	read := func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		return string(text), err
	}
	text, err := read("farhash.h")
	if err != nil {
		return nil, err
	}
	h, err := parse(text)
	if err != nil {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join(folder, "*.c"))
	if err != nil {
		return nil, err
	}
	var hand strings.Builder
	for _, path := range sources {
		if filepath.Base(path) == "api.c" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		hand.Write(text)
	}
	api, err := h.cAPI(hand.String())
	if err != nil {
		return nil, err
	}
	template, err := read("fortran/farhash.f90.in")
	if err != nil {
		return nil, err
	}
	module, err := h.fortran(template)
	return map[string]string{"api.c": api, "fortran/farhash.f90": module,
		"../python/farhash/abi.py": h.python()}, err
}

func main() {
	files, err := generate(".")
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
