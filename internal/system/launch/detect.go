package launch

import (
	"fmt"
	"os"
	"strconv"
)

// The launchers that Detect knows, as given in Membership.Launcher.
const (
	Farhash  = "farhash"
	OpenMPI  = "openmpi"
	MPICH    = "mpich"
	Slurm    = "slurm"
	Torchrun = "torchrun"
)

// The variables that Run sets for each rank.
const (
	envRank      = "FARHASH_RANK"
	envSize      = "FARHASH_SIZE"
	envLocalSize = "FARHASH_LOCAL_SIZE"
	envJob       = "FARHASH_JOB"
)

// Membership says which rank of which job a process is.
//
// Invariant: 0 <= Rank < Size, 0 <= LocalSize <= Size.
type Membership struct {
	Rank      int
	Size      int    // ranks of the job
	LocalSize int    // ranks of the job on this host, 0 where unknown
	Job       string // equal in all ranks of a job, fit for a file name
	Launcher  string // Farhash, OpenMPI, MPICH, Slurm or Torchrun
}

// Detect finds the membership of this process in the environment. It reports
// found = false when no launcher started this process as a rank. An error names
// the variable that is missing or makes no sense.
func Detect() (m Membership, found bool, err error) {
	return detect(os.LookupEnv, os.Getppid())
}

// environ reads variables; an empty one counts as unset.
type environ func(name string) (string, bool)

func (e environ) get(name string) string {
	v, _ := e(name)
	return v
}

// first returns the first of the variables that is set.
func (e environ) first(names ...string) (name, value string) {
	for _, name := range names {
		if v := e.get(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// source names the variables of one launcher.
type source struct {
	launcher  string
	rank      string
	size      string
	localSize string
	// started reports whether the launcher started this process as a rank.
	started func(environ, source) (bool, error)
	// job returns what identifies the job.
	job func(e environ, ppid int) (string, error)
}

// sources are in order of precedence. Where one launcher runs within the ranks of
// another, the inner one is right. farhash run is first, as it normally is the inner one.
func sources() []source {
	return []source{
		{Farhash, envRank, envSize, envLocalSize, eitherSet, farhashJob},
		{
			OpenMPI, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
			"OMPI_COMM_WORLD_LOCAL_SIZE", eitherSet, openMPIJob,
		},
		{MPICH, "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", eitherSet, pmiJob},
		{Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", slurmStarted, slurmJob},
		{Torchrun, "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", sizeSet, torchrunJob},
	}
}

func detect(lookup func(string) (string, bool), ppid int) (Membership, bool, error) {
	e := environ(lookup)
	for _, s := range sources() {
		started, err := s.started(e, s)
		if err != nil {
			return Membership{}, false, fmt.Errorf("rank of this process: %w", err)
		}
		if !started {
			continue
		}
		m, err := s.membership(e, ppid)
		if err != nil {
			return Membership{}, false, fmt.Errorf("rank of this process: %w", err)
		}
		return m, true, nil
	}
	return Membership{}, false, nil
}

func eitherSet(e environ, s source) (bool, error) {
	return e.get(s.rank) != "" || e.get(s.size) != "", nil
}

func sizeSet(e environ, s source) (bool, error) {
	return e.get(s.size) != "", nil
}

func (s source) membership(e environ, ppid int) (Membership, error) {
	m := Membership{Launcher: s.launcher}
	sizeName := s.size
	if s.launcher == Slurm && e.get(sizeName) == "" {
		sizeName = "SLURM_NTASKS"
	}
	var err error
	if m.Rank, err = s.number(e, s.rank, sizeName, 0); err != nil {
		return m, err
	}
	if m.Size, err = s.number(e, sizeName, s.rank, 1); err != nil {
		return m, err
	}
	if m.Rank >= m.Size {
		return m, fmt.Errorf("%s=%d is no rank of %s=%d; ranks count from 0",
			s.rank, m.Rank, sizeName, m.Size)
	}
	if m.LocalSize, err = s.local(e, m.Size); err != nil {
		return m, err
	}
	key := e.get(envJob)
	if key == "" {
		if key, err = s.job(e, ppid); err != nil {
			return m, err
		}
	}
	m.Job = sanitise(key)
	return m, nil
}

// number reads a variable that must be set, since the variable other is.
func (s source) number(e environ, name, other string, least int) (int, error) {
	text := e.get(name)
	if text == "" {
		return 0, fmt.Errorf("%s is not set though %s=%q is; set both (%s does) or none",
			name, other, Cut(e.get(other)), s.launcher)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%s=%q is not a whole number of at least %d; "+
			"unset it or start the program with a launcher", name, Cut(text), least)
	}
	return n, nil
}

func (s source) local(e environ, size int) (int, error) {
	if s.launcher == Slurm {
		return slurmLocalSize(e, size)
	}
	if e.get(s.localSize) == "" {
		return 0, nil
	}
	n, err := s.number(e, s.localSize, s.size, 1)
	if err != nil {
		return 0, err
	}
	if n > size {
		return 0, fmt.Errorf("%s=%d exceeds %s=%d", s.localSize, n, s.size, size)
	}
	return n, nil
}
