package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const clib = "../.."

// The files in the tree are what the header says.
func TestGenerated(t *testing.T) {
	files, err := generate(clib)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(clib, name))
		if err != nil || string(got) != want {
			t.Errorf("clib/%s is not what farhash.h says; run `make generate` (%v)", name, err)
		}
		for line := range strings.Lines(want) {
			if len(strings.ReplaceAll(line, "\t", "    ")) > 101 {
				t.Errorf("%s has a line of more than 100 columns: %s", name, line)
			}
		}
	}
}

// No function of the header is forgotten, whatever its declaration looks like.
func TestAllFunctions(t *testing.T) {
	text, err := os.ReadFile(clib + "/farhash.h")
	if err != nil {
		t.Fatal(err)
	}
	h, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range h.functions {
		known[f.name] = true
	}
	code := comment.ReplaceAllString(string(text), "")
	names := regexp.MustCompile(`(farhash_\w+)\(`).FindAllStringSubmatch(code, -1)
	if len(names) != len(known) || len(names) < 50 {
		t.Errorf("the header declares %d functions, of which %d are known", len(names), len(known))
	}
	for _, n := range names {
		if !known[n[1]] {
			t.Errorf("%s is not known", n[1])
		}
	}
}

// What a declaration says has its place in each language.
func TestDeclaration(t *testing.T) {
	h, err := parse(`
/* What it did. */
typedef struct farhash_x_stats {
	uint64_t a, b; /* how many; of
	                * both */
	uint64_t c;
} farhash_x_stats;
enum { FARHASH_A = 0, FARHASH_B = -1 /* why */ };
#define FARHASH_MAX_A INT64_C(0x10)
typedef struct farhash_x farhash_x;
int farhash_x_find(farhash_x *x, const uint64_t words[], size_t n,
	uint32_t refs[] /* or NULL */, uint64_t *version /* or NULL, in and out */);

/* Reads. Collective. */
int farhash_x_load(farhash_x *x, const char *path, double *used,
	int (*next)(const void *key, void *argument), void *argument);
int farhash_x_close(farhash_x *x);
`)
	if err != nil {
		t.Fatal(err)
	}
	api, err := h.cAPI("int farhash_y(void) { }")
	if err != nil {
		t.Fatal(err)
	}
	module, err := h.fortran("  !@ constants\n  !@ types\n  !@ interfaces\n  !@ paths\n" +
		"  integer(c_int) function farhash_x_find(x)\n")
	if err != nil {
		t.Fatal(err)
	}
	for text, parts := range map[string][]string{
		api: {"\tHANDLE(x, FH_X);\n\tNONE(n);\n\tNEED(words);\n\tBATCH(n, sizeof *words);\n" +
			"\treturn goXFind(h->number, BARE(words), n, refs, version);\n",
			"\tHANDLE(x, FH_X);\n\tCALLER();\n" +
				"\treturn goXLoad(h->number, BARE(path), used, (void *)next, argument);",
			"\tCLOSE(x, FH_X);\n\treturn goXClose(h->number);"},
		module: {"integer(c_int64_t), parameter :: farhash_max_a = 16_c_int64_t",
			"enumerator :: farhash_a = 0, farhash_b = -1\n", "type, bind(c) :: farhash_x_stats",
			"function farhash_x_find_c(x, words, n, refs, version)",
			"integer(c_int64_t), intent(in) :: words(n)",
			"integer(c_int32_t), intent(out), optional :: refs(n)",
			"integer(c_int64_t), intent(inout), optional :: version",
			"farhash_x_load = " +
				"explained(farhash_x_load_c(x, c_path(path), used, next, argument), path)"},
		h.python(): {"MAX_A = 16\n", "    a: int\n    b: int\n    \"\"\"How many; of both.\"\"\"\n",
			"LoadFunction = CFUNCTYPE(c_int, c_void_p, c_void_p)",
			"\"farhash_x_find\": " +
				"(c_int, [c_void_p, c_void_p, c_size_t, c_void_p, POINTER(c_uint64)])",
			"[c_void_p, c_char_p, POINTER(c_double), LoadFunction, c_void_p]"},
	} {
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("missing:\n%s\nin:\n%s", part, text)
			}
		}
	}
}

// What is not understood is an error, and not left out.
func TestUnknown(t *testing.T) {
	for _, text := range []string{"float farhash_x(void);", "int farhash_x(long double y);",
		"int farhash_x(int);", "typedef struct farhash_y { int a:3; } farhash_y;"} {
		if h, err := parse(text); err == nil {
			t.Errorf("%s is %+v", text, h)
		}
	}
	h, err := parse("const char *farhash_x(void);")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := h.cAPI(""); err == nil {
		t.Errorf("a text is returned by\n%s", text)
	}
}
