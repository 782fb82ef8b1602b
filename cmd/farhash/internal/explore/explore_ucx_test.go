//go:build ucx && cgo

package explore

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

// awaitOther waits until a file is there, and is another one than before.
func awaitOther(t *testing.T, path string, before os.FileInfo) {
	t.Helper()
	for ; ; time.Sleep(time.Millisecond) {
		if now, err := os.Stat(path); err == nil && (before == nil || !os.SameFile(before, now)) {
			return
		}
	}
}

// A rank that is killed while the ranks make their tables ends all others as well.
func TestUCXLosesRankEarly(t *testing.T) {
	hosts := newHostPair(t, 2)
	hosts.start(endless(t)...)
	for !strings.Contains(hosts.both[0].Errors.String(), "plan: ") {
		time.Sleep(time.Millisecond)
	}
	hosts.kill(2)
	hosts.finish(cli.ExitLost, cli.ExitLost)
	if text := hosts.both[0].Errors.String(); !strings.Contains(text, "rank 2 ") {
		t.Errorf("host 0 does not name rank 2: %s", text)
	}
}

// A search on two hosts loses a rank, continues as it advises on one host with another number
// of ranks, is killed again, and comes on two hosts to the figures of an undisturbed one.
func TestUCXResume(t *testing.T) {
	hosts := newHostPair(t, 2)
	path := family(t, "philosophers", "11")
	want := exploreJSON(t, "explore", path, "--json", "-n", "2")
	file := t.TempDir() + "/check point's"
	flags := []string{"--checkpoint", file, "--every", "20ms", "--mem", "1GiB", "--quiet"}
	hosts.start(append([]string{"explore", path}, flags...)...)
	awaitOther(t, file, nil)
	hosts.kill(3)
	hosts.finish(cli.ExitLost, cli.ExitLost)
	for host, c := range hosts.both {
		if !regexp.MustCompile(`farhash: rank 3 on \S+-1 was lost`).MatchString(c.Errors.String()) {
			t.Errorf("host %d: %s", host, &c.Errors)
		}
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	second := try.New(t, try.Launched(t, "3", advice(t, hosts.both[1])...)...)
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	awaitOther(t, file, before)
	try.Send(t, second.PIDOf(0), 9)
	if second.Finish(); second.Code() != cli.ExitLost {
		t.Errorf("on one host: exit code %d: %s", second.Code(), &second.Errors)
	}
	hosts.ranks = 1
	hosts.start("explore", path, "--resume", file, "--check", "--json", "--mem", "1GiB")
	hosts.finish(0, 0)
	got := try.Object(t, hosts.both[0])
	for _, key := range []string{"states", "arcs", "depth", "deadlocks", "maxTokensPlace",
		"maxTokensMarking", "complete"} {
		if got[key] != want[key] {
			t.Errorf("%s is %v after two losses, %v undisturbed", key, got[key], want[key])
		}
	}
}

// Whichever rank is killed, or when the cable is cut, all others end, and say who is missing.
func TestUCXLosesRanks(t *testing.T) {
	hosts := newHostPair(t, 2)
	for _, c := range []struct {
		what     string
		strike   func()
		messages [2]string // on each host, a regular expression
		codes    [2]int
	}{
		{"rank 0", func() { hosts.kill(0) }, [2]string{`rank 0 on \S+-0 was lost`,
			`rank 0 on \S+-0 was lost`}, [2]int{cli.ExitLost, cli.ExitLost}},
		{"rank 2", func() { hosts.kill(2) }, [2]string{`rank 2 on \S+-1 was lost`,
			`rank 2 on \S+-1 was lost`}, [2]int{cli.ExitLost, cli.ExitLost}},
		{"host 1", func() { hosts.kill(2, 3) }, [2]string{" lost", "was killed"},
			[2]int{cli.ExitLost, 137}},
		{"the cable", func() { hosts.Cut(t) }, [2]string{" lost", " lost"},
			[2]int{cli.ExitLost, cli.ExitLost}},
	} {
		file := t.TempDir() + "/checkpoint" // shows that the search has begun
		hosts.start(endless(t, "--json", "--checkpoint", file, "--every", "10ms")...)
		awaitOther(t, file, nil)
		c.strike()
		hosts.finish(c.codes[:]...)
		for host, message := range c.messages {
			text := hosts.both[host].Errors.String()
			if !regexp.MustCompile(message).MatchString(text) {
				t.Errorf("%s lost: host %d printed no %q: %s", c.what, host, message, text)
			}
		}
		if c.what == "rank 0" {
			continue // it would have printed the answer
		}
		o := try.Object(t, hosts.both[0])
		lost, _ := o["lostRanks"].([]any)
		if o["complete"] != false || o["reason"] != "rank lost" || len(lost) == 0 {
			t.Errorf("%s lost: %v", c.what, o)
		}
	}
}

// Where hosts do not share the folder of a checkpoint the search does not begin. It continues where
// each has a copy of one checkpoint, but not where they have different ones.
func TestUCXFolders(t *testing.T) {
	hosts := newHostPair(t, 1)
	hosts.own, hosts.instead = t.TempDir(), t.TempDir()
	path := family(t, "philosophers", "9")
	prints := func(what, want string, codes ...int) {
		t.Helper()
		hosts.finish(codes...)
		if text := hosts.both[1].Errors.String(); !strings.Contains(text, want) {
			t.Errorf("%s: host 1 prints no %q: %s", what, want, text)
		}
	}
	file := hosts.instead + "/checkpoint"
	save := []string{"explore", path, "--checkpoint", file, "--every", "1ms"}
	hosts.start(save...)
	prints("no folder in common", "share", 1, 1)
	left := []byte("farhash partial\x00 another") // by a save that has died
	if err := os.WriteFile(hosts.own+"/checkpoint.partial", left, 0o600); err != nil {
		t.Fatal(err)
	}
	hosts.start(save...)
	prints("something was left behind", "share", 1, 1)

	for _, folder := range []string{hosts.own, hosts.instead} {
		save[3] = folder + "/checkpoint"
		if c := try.Run(t, save...); c.Code() != 0 {
			t.Fatalf("exit code %d: %s", c.Code(), &c.Errors)
		}
	}
	resume := []string{"explore", path, "--resume", file, "--check", "--quiet"}
	hosts.start(resume...)
	prints("two checkpoints", "differ", 1, 1)
	content, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(hosts.own+"/checkpoint", content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	hosts.start(resume...)
	prints("copies", "", 0, 0)
}

// UCX listens on the device by which the ranks meet, and on no other one.
func TestUCXPorts(t *testing.T) {
	hosts := newHostPair(t, 1)
	file := t.TempDir() + "/checkpoint" // shows that the search has begun
	hosts.start(endless(t, "--checkpoint", file, "--every", "10ms")...)
	awaitOther(t, file, nil)
	for host, c := range hosts.both {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", c.PIDOf(host)))
		if err != nil {
			t.Fatal(err)
		}
		ports := 0
		for line := range strings.Lines(string(table)) {
			part := strings.Fields(line)
			if len(part) < 4 || part[3] != "0A" { // TCP_LISTEN
				continue
			}
			if ports++; !strings.HasSuffix(strings.Split(part[1], ":")[0], "4D0A") { // 10.77
				t.Errorf("host %d listens at %s", host, part[1])
			}
		}
		if ports == 0 {
			t.Errorf("host %d listens nowhere:\n%s", host, table)
		}
	}
	hosts.kill(0, 1)
	hosts.finish(137, 137)
}
