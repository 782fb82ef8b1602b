//go:build unix

package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDetectRendezvous(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "  from a file\n")
	for _, c := range []struct{ address, token, file, want, says string }{
		{"", "t", "", "", "FARHASH_RENDEZVOUS is not set"},
		{"h:1", "", "", "", "neither FARHASH_TOKEN nor FARHASH_TOKEN_FILE"},
		{"h:1", "mine alone", good, "mine alone", ""},
		{"h:1", "", good, "from a file", ""},
		{"h:1", "", filepath.Join(dir, "none"), "", "no such file"},
		{"h:1", "", write("empty", " \n"), "", "has 0 bytes"},
		{"h:1", "", write("long", strings.Repeat("x", maxTokenBytes+10)), "",
			"random text of 8 to"},
	} {
		t.Setenv(RendezvousVariable, c.address)
		t.Setenv(TokenVariable, c.token)
		t.Setenv(TokenFileVariable, c.file)
		r, err := DetectRendezvous()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			r.Token != c.want {
			t.Errorf("%+v: token %q, %v", c, r.Token, err)
		}
	}
	one, same, other := Rendezvous{"h:1", "t"}, Rendezvous{"h:1", "t"}, Rendezvous{"h:1", "u"}
	if key := one.Job(); key != same.Job() || key == other.Job() || sanitise(key) != key ||
		key == (Rendezvous{"h:2", "t"}).Job() {
		t.Errorf("keys of jobs: %q, %q and %q", key, same.Job(), other.Job())
	}
	if a, b := NewToken(), NewToken(); a == b {
		t.Error("two tokens are the same")
	}
}

// The file that is asked for goes before the environment. A token has 8 to 1024 bytes.
func TestFindToken(t *testing.T) {
	t.Setenv(TokenVariable, "that of the environment")
	file := filepath.Join(t.TempDir(), "token")
	for length, good := range map[int]bool{7: false, 8: true, 1024: true, 1025: false} {
		token := strings.Repeat("x", length)
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, found, err := FindToken(file)
		if found != good || (err == nil) != good || good && got != token {
			t.Errorf("%d bytes: %q, %v, %v", length, got, found, err)
		}
	}
}

// The ranks of the second of two hosts.
func TestRunPart(t *testing.T) {
	out := newTranscript()
	o := options(2, "detect")
	o.Stdout, o.First, o.Size, o.Job, o.Prefix = out, 3, 5, "one-job", false
	if code, err := Run(t.Context(), o); code != 0 || err != nil {
		t.Fatalf("Run = %d, %v; output %q", code, err, out)
	}
	got := memberships(t, out.String())
	for i, m := range got {
		if want := (Membership{3 + i, 5, 2, "one-job", Farhash}); m != want {
			t.Errorf("found %+v, want %+v", m, want)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d ranks, want 2", len(got))
	}
	stderr := newTranscript()
	o = options(2, "fail:4:7")
	o.Stderr, o.First, o.Size, o.Job, o.Grace = stderr, 3, 5, "one-job", -1
	code, err := Run(t.Context(), o)
	if code != 7 || err != nil || !strings.Contains(stderr.String(), "rank 4 (pid") {
		t.Errorf("Run = %d, %v; it said %q", code, err, stderr)
	}
	o = options(2, "echo") // whose ranks would end
	for _, wrong := range [][2]int{{3, 4}, {-1, 4}} {
		o.First, o.Size = wrong[0], wrong[1]
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("2 ranks from %d of %d were started", o.First, o.Size)
		}
	}
	out = newTranscript() // rank 0 alone has an input
	o.Stdout, o.Stdin, o.First, o.Size, o.Job = out, strings.NewReader("text"), 3, 5, "one-job"
	o.Prefix = true
	code, err = Run(t.Context(), o)
	want := []string{`[3] 3 read "" <nil>`, `[4] 4 read "" <nil>`}
	if got := out.sortedLines(); code != 0 || err != nil || !slices.Equal(got, want) {
		t.Errorf("Run = %d, %v; output %q", code, err, got)
	}
	stderr = newTranscript()
	o = options(1, "fail:4:signal 9")
	o.Stderr, o.First, o.Size, o.Job, o.Survive = stderr, 4, 5, "one-job", true
	code, err = Run(t.Context(), o)
	if code != 137 || err != nil || !strings.Contains(stderr.String(), "rank 4 (pid") {
		t.Errorf("Run = %d, %v; it said %q", code, err, stderr)
	}
}

// A token file that others may use is an error with a remedy.
func TestTokenWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	t.Setenv(TokenVariable, "")
	t.Setenv(TokenFileVariable, "")
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true,
		0o604: true, 0o666: true} {
		if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		text := TokenWarning(file)
		if (text != "") != warned || warned && !strings.HasSuffix(text, "chmod 600 "+file) {
			t.Errorf("mode %o: %q", mode, text)
		}
		t.Setenv(TokenFileVariable, file)
		if TokenWarning("") != text {
			t.Errorf("mode %o: by the environment: %q", mode, TokenWarning(""))
		}
		t.Setenv(TokenVariable, "a token of its own")
		if text := TokenWarning(""); text != "" { // the file is not used
			t.Error(text)
		}
		t.Setenv(TokenFileVariable, "")
		t.Setenv(TokenVariable, "")
		_ = os.Remove(file)
	}
	for _, none := range []string{"", file, os.DevNull} {
		if text := TokenWarning(none); text != "" {
			t.Errorf("%q: %s", none, text)
		}
	}
}
