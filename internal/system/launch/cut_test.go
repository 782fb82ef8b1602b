package launch

import (
	"strings"
	"testing"
)

// What a message repeats of a long value is short, and still text.
func TestCut(t *testing.T) {
	long := "é" + strings.Repeat("xé", 1<<16)
	for _, value := range []string{"", "short", strings.Repeat("x", maxCut)} {
		if got := Cut(value); got != value {
			t.Errorf("%q became %q", value, got)
		}
	}
	got := Cut(long)
	if len(got) > 130 || strings.ToValidUTF8(got, "?") != got ||
		!strings.HasSuffix(got, "... (196610 bytes)") {
		t.Errorf("%q", got)
	}
}

// Variables of any length make errors of sane length.
func TestLongVariables(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for _, set := range []map[string]string{
		{envRank: long, envSize: "2"}, {envRank: "0", envSize: long},
		{envRank: long}, {"OMPI_COMM_WORLD_RANK": long},
		{"RANK": long, "WORLD_SIZE": "2"}, {"RANK": "0", "WORLD_SIZE": long},
		{"SLURM_STEP_ID": long, "SLURM_PROCID": "0"},
		{"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": long},
		{"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_NODEID": long,
			"SLURM_TASKS_PER_NODE": "2"},
		{"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_NODEID": "0",
			"SLURM_TASKS_PER_NODE": long},
	} {
		_, _, err := detect(func(name string) (string, bool) {
			value, found := set[name]
			return value, found
		}, 1)
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%.99v: %.300v", set, err)
		}
	}
	t.Setenv(RendezvousVariable, long)
	t.Setenv(TokenVariable, "")
	t.Setenv(TokenFileVariable, "")
	if _, err := DetectRendezvous(); err == nil || len(err.Error()) > 500 {
		t.Errorf("%.300v", err)
	}
}
