package farhash

import (
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/system/launch"
)

func TestChooseMPI(t *testing.T) {
	for _, c := range []struct {
		launcher  string
		localSize int // of 4
		wish      string
		built     bool
		want      bool
		says      string // of an error
	}{
		{launch.OpenMPI, 4, "", true, false, ""},
		{launch.OpenMPI, 0, "", true, false, ""},
		{launch.OpenMPI, 4, "shm", true, false, ""},
		{launch.OpenMPI, 4, "mpi", true, true, ""},
		{launch.OpenMPI, 4, "mpi", false, true, ""}, // the engine says how to build it
		{launch.OpenMPI, 2, "", true, true, ""},
		{launch.MPICH, 2, "", true, true, ""},
		{launch.Slurm, 2, "mpi", true, true, ""},
		{launch.Slurm, 2, "", true, true, ""},
		{launch.OpenMPI, 2, "", false, false, "-tags 'mpi openmpi'"},
		{launch.OpenMPI, 2, "shm", true, false, "FARHASH_ENGINE=shm needs all on one host"},
		{launch.Torchrun, 2, "", true, false, "are started by mpirun"},
	} {
		m := launch.Membership{Size: 4, LocalSize: c.localSize, Launcher: c.launcher}
		got, err := chooseMPI(m, c.wish, c.built)
		if got != c.want || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

// A wish that there is no engine for is an error, also where nothing is to choose.
func TestUnknownEngine(t *testing.T) {
	t.Setenv(EngineVariable, "tcp")
	if job, err := Join(t.Context()); err == nil {
		_ = job.Close()
		t.Error("FARHASH_ENGINE=tcp was heeded by nobody")
	}
}
