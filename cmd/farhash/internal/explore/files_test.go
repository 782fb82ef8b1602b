package explore

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/kv"
	"github.com/farhash/farhash/rma"
	"github.com/farhash/farhash/rma/local"
)

// A checkpoint never takes the place of the net, by whatever name, and nothing is written through
// what is beside it.
func TestCheckpointSparesTheNet(t *testing.T) {
	net := family(t, "philosophers", "5")
	folder := filepath.Dir(net)
	at := func(name string) string { return filepath.Join(folder, name) }
	before, err := os.ReadFile(net)
	if err != nil {
		t.Fatal(err)
	}
	for _, make := range []func() error{
		func() error { return os.Symlink(net, at("symbolic")) },
		func() error { return os.Link(net, at("hard")) },
		func() error { return os.Symlink(net, at("a.partial")) },
		func() error { return os.Link(net, at("b.partial")) },
		func() error { return os.WriteFile(at("c.partial"), before, 0o600) },
		func() error { return os.Symlink("none", at("dangling")) },
		func() error { return exec.Command("mkfifo", at("pipe")).Run() },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code             int
		net, name, wants string
	}{
		{2, net, net, "which is read"},
		{2, net, folder + "/./philosophers.pnml", "which is read"},
		{2, net, at("symbolic"), "which is read"},
		{2, net, at("hard"), "which is read"},
		{2, at("symbolic"), net, "which is read"},
		{1, net, at("a"), "a.partial: it is a symbolic link"},
		{1, net, at("b"), "b.partial is a file with 3 names"},
		{1, at("c.partial"), at("c"), "c.partial is no file that a save has left behind"},
		{1, net, at("dangling"), "is a symbolic link to none, which is not there"},
		{1, net, at("pipe"), "a device or a pipe"},
		{1, net, folder, "is a folder"},
		{1, net, "/dev/null", "a device or a pipe"},
	} {
		try.Fails(t, c.code, c.wants, "explore", c.net, "-q", "--checkpoint", c.name,
			"--every", "1ns")
		after, err := os.ReadFile(c.net)
		if err != nil || string(after) != string(before) {
			t.Fatalf("--checkpoint %s: the net has become %.30q, %v", c.name, after, err)
		}
	}
	if _, err := os.Lstat(at("none")); err == nil {
		t.Error("what a symbolic link names was made")
	}
}

// A search does not write to what it continues from, but where it takes its place when it is
// complete.
func TestCheckpointSparesTheOther(t *testing.T) {
	net := family(t, "philosophers", "8")
	file := filepath.Join(t.TempDir(), "file")
	args := []string{"explore", net, "-q", "--every", "1ns", "--checkpoint"}
	if c := try.Run(t, append(args, file+".partial")...); c.Code() != 0 {
		t.Fatalf("exit code %d: %s", c.Code(), &c.Errors)
	}
	before, err := os.ReadFile(file + ".partial")
	if err != nil {
		t.Fatal(err)
	}
	try.Fails(t, 1, "file.partial is where "+file+" is written until it is complete",
		append(args, file, "--resume", file+".partial")...)
	after, err := os.ReadFile(file + ".partial")
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("it has become %.30q, %v", after, err)
	}
	try.Fails(t, 1, ".partial belongs to another net (its markings have", "explore",
		family(t, "philosophers", "9"), "-q", "--resume", file+".partial")
	c := try.Run(t, append(args, file+".partial", "--resume", file+".partial")...)
	if c.Code() != 0 {
		t.Errorf("exit code %d: %s", c.Code(), &c.Errors)
	}
}

// No output takes the place of an input, nor of a file of another format.
func TestOutputsSpareOtherFiles(t *testing.T) {
	net := family(t, "philosophers", "5")
	const set = "<property-set xmlns=\"http://mcc.lip6.fr/\"></property-set>\n"
	properties, text := try.File(t, "p.xml", set), try.File(t, "text", "of a user\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(properties, link); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "map")
	err := local.Run(1, func(job rma.Job) error {
		m, err := kv.New(t.Context(), job, kv.Config{Slots: 64, MaxKey: 8,
			Bytes: 1 << 12})
		if err == nil {
			err = errors.Join(m.Save(t.Context(), saved), m.Close())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := []string{"explore", net, "-q", "--every", "1ns", "--checkpoint"}
	for _, c := range []struct {
		code        int
		kept, wants string
		args        []string
	}{
		{2, properties, "p.xml, which is read", append(checkpoint, properties, "--properties",
			properties)},
		{2, properties, "p.xml, which is read", append(checkpoint, link, "--properties",
			properties)},
		{2, properties, "link, which is read", append(checkpoint, properties, "--properties",
			net, "--properties", link)},
		{1, properties, "is no saved farhash exploration", append(checkpoint, link)},
		{1, text, "is no saved farhash exploration", append(checkpoint, text)},
		{1, saved, "is no saved farhash exploration", append(checkpoint, saved)},
		{1, net, "is no result of farhash calibrate", []string{"calibrate", "--file", net}},
		{1, text, "is no result of farhash calibrate", []string{"calibrate", "--file", text}},
		{1, text, "is no net in PNML", []string{"petri", "kanban", "-n", "2", "-o", text}},
		{1, properties, "is no net in PNML", []string{"petri", "kanban", "-n", "2", "-o", link}},
	} {
		before, err := os.ReadFile(c.kept)
		if err != nil {
			t.Fatal(err)
		}
		try.Fails(t, c.code, c.wants, c.args...)
		if after, err := os.ReadFile(c.kept); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%q: the file has become %.30q, %v", c.args, after, err)
		}
	}
	c := try.New(t, "explore", "-", "-q", "--checkpoint", net)
	if c.Stdin, err = os.Open(net); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if c.Finish(); c.Code() != 2 || !strings.Contains(c.Errors.String(), "stdin, which is read") {
		t.Errorf("standard input: exit code %d: %s", c.Code(), &c.Errors)
	}
}

// What a command has written before it may write again.
func TestOutputsAreWrittenAgain(t *testing.T) {
	folder := t.TempDir()
	net, file := filepath.Join(folder, "net.pnml"), filepath.Join(folder, "file")
	for _, args := range [][]string{
		{"petri", "philosophers", "-n", "8", "-o", net},
		{"petri", "philosophers", "-n", "9", "-o", net},
		{"explore", net, "-q", "--every", "1ns", "--checkpoint", file},
		{"explore", net, "-q", "--every", "1ns", "--checkpoint", file},
	} {
		if c := try.Run(t, args...); c.Code() != 0 || c.Errors.Len() > 0 {
			t.Errorf("%q: exit code %d: %s", args, c.Code(), &c.Errors)
		}
	}
}

// What is no file is refused at once where it is to be read.
func TestNoFiles(t *testing.T) {
	net := family(t, "philosophers", "3")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{pipe: "a pipe", t.TempDir(): "a folder",
		"/dev/zero": "a device"} {
		try.Fails(t, 1, want, "explore", net, "-q", "--resume", path)
	}
}

// What is no file is read as a net, if it is one, and a pipe is not waited for.
func TestNetsThatAreNoFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip(err)
	}
	try.Fails(t, 1, "a pipe, which its writer opens first): line 1: the file is empty", "explore",
		pipe)
	try.Fails(t, 1, "is a folder", "explore", t.TempDir())
	file, err := os.ReadFile(family(t, "philosophers", "3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/stdin", "-"} {
		c := try.New(t, "explore", name, "-q")
		c.Stdin = bytes.NewReader(file) // by a pipe
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if c.Finish(); c.Code() != 0 || !strings.Contains(c.Out.String(), "27") {
			t.Errorf("%s: exit code %d: %s%s", name, c.Code(), &c.Out, &c.Errors)
		}
	}
}

// A file that is longer than --max-net is refused.
func TestMaxNet(t *testing.T) {
	net := family(t, "philosophers", "3")
	try.Fails(t, 1, "line 1: the file has more than 1000 bytes; if it is a net, raise this limit",
		"explore", net, "--max-net", "1kB")
	try.Fails(t, 2, `--max-net "much" is no size`, "explore", net, "--max-net", "much")
	if c := try.Run(t, "explore", net, "-q", "--max-net", "1MiB"); c.Code() != 0 {
		t.Errorf("exit code %d: %s", c.Code(), &c.Errors)
	}
}

// An output that is standard output already goes there.
func TestOutputToStandardOutput(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/stdout", link); err != nil {
		t.Fatal(err)
	}
	if c := try.Run(t, "petri", "philosophers", "-n", "3", "-o", link); c.Code() != 0 ||
		!strings.HasSuffix(strings.TrimSpace(c.Out.String()), "</pnml>") {
		t.Errorf("exit code %d: %.100s%s", c.Code(), &c.Out, &c.Errors)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if c := try.Run(t, "petri", "philosophers", "-n", "3", "-o", "/dev/null"); c.Code() != 0 {
		t.Errorf("exit code %d: %s", c.Code(), &c.Errors)
	}
}

// --untimed leaves out timing and priorities, and says so, which are refused otherwise; it says
// nothing if there are none.
func TestUntimed(t *testing.T) {
	folder := filepath.FromSlash("../../../../statespace/petri/testdata/dialects/")
	timed, untimed := filepath.Join(folder, "timed.tapn"), filepath.Join(folder, "components.tapn")
	try.Refused(t, 1, `line 3: shared-place "Buffer" has invariant="<= limit", which is timing`,
		"explore", timed, "-q")
	try.Here(t, "explore", timed, "-q", "--untimed").Has(t, 0, "states                   2\n",
		"farhash: warning: --untimed leaves out timing and priorities, 10 in all; the first: "+
			`line 3: shared-place "Buffer" has invariant="<= limit", which is timing`)
	try.Here(t, "explore", untimed, "-q", "--untimed").Has(t, 0, "states                   10\n",
		"!warning")
}
