package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEach(t *testing.T) {
	for membership, want := range map[string]string{
		"0::/a/b\n":                    "2 /a/b, 2 /a, 2 /",
		"0::/../x\n":                   "2 /x, 2 /",
		"5:cpu,cpuacct:/x\n4:pids:/y":  "1 /cpu/x, 1 /cpu",
		"5:cpuacct:/x\n0::/\n":         "2 /",
		"5:cpu:/a:b\n0::/c\n":          "1 /cpu/a:b, 1 /cpu, 2 /c, 2 /",
		"nonsense\n\n:\n1:2\n":         "",
		"7:cpuset:/\n6:cpuset,cpu:/\n": "1 /cpu",
	} {
		file, root := filepath.Join(t.TempDir(), "cgroup"), "/sys/fs/cgroup"
		if err := os.WriteFile(file, []byte(membership), 0o600); err != nil {
			t.Fatal(err)
		}
		var seen []string
		Each(file, root, "cpu", func(dir string, version int) {
			rest, _ := filepath.Rel(root, dir)
			seen = append(seen, fmt.Sprint(version, " ", filepath.Join("/", rest)))
		})
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("%q: %s, want %s", membership, got, want)
		}
	}
	Each(filepath.Join(t.TempDir(), "none"), "/", "cpu", func(string, int) {
		t.Error("a control group without a membership")
	})
}
