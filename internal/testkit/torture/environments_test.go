//go:build linux

package torture

import (
	"cmp"
	"strings"
	"time"
)

// variables are what farhash and its libraries read, and what launchers set.
var variables = strings.Fields(`FARHASH_RANK FARHASH_SIZE FARHASH_LOCAL_SIZE FARHASH_JOB
	FARHASH_ENGINE FARHASH_TIMEOUT FARHASH_TIMEOUT_LOST FARHASH_RENDEZVOUS FARHASH_TOKEN
	FARHASH_TOKEN_FILE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_SIZE
	PMIX_NAMESPACE PMI_RANK PMI_SIZE PMI_FD PMI_PORT MPI_LOCALNRANKS SLURM_PROCID
	SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_STEP_TASKS_PER_NODE SLURM_JOB_ID SLURM_STEP_ID
	SLURM_NODEID SLURM_LOCALID RANK WORLD_SIZE LOCAL_WORLD_SIZE LOCAL_RANK MASTER_ADDR
	MASTER_PORT TORCHELASTIC_RUN_ID GOMAXPROCS GOGC TMPDIR HOME XDG_CACHE_HOME PATH LANG TERM
	COLUMNS NO_COLOR UCX_TLS UCX_NET_DEVICES`)

// settings are values that a variable might have, besides the hostile ones.
var settings = []string{"", "0", "1", "2", "3", "-1", "shm", "mpi", "ucx", "90s", "1ms", "2(x1)",
	"2,1", "3(x2),1", "2(x99999999999)", "127.0.0.1:29500", "127.0.0.1:1", "token of the sweep",
	"/proc/no/such"}

// strikeEnvironment runs commands with variables that make no sense, or too much.
func strikeEnvironment(r *round) error {
	m, err := r.small()
	if err != nil {
		return err
	}
	plain := r.programs["plain"]
	explore := []string{"explore", m.path, "--json", "-q", "--mem=128MiB"}
	for range 10 {
		var env []string
		for range 1 + r.IntN(5) {
			value := pick(r, settings...)
			if r.IntN(4) == 0 {
				value = pick(r, hostile...)
			}
			env = append(env, pick(r, variables...)+"="+value)
		}
		line := pick(r, append([]string{plain}, explore...),
			append([]string{cmp.Or(r.programs[r.engine()], plain)}, explore...),
			append([]string{plain, "run", "-n", "2", "--", plain}, explore...),
			[]string{plain, "doctor", "--json"}, []string{plain, "petri", "dekker", "-n", "3"},
			[]string{plain, "calibrate", "--mib=1"})
		c := r.command(env, line...)
		if err := c.run(1 + time.Duration(r.IntN(5e8))); err != nil {
			return err
		}
		if line[len(line)-1] == explore[len(explore)-1] {
			if err := c.answers(m); err != nil {
				return err
			}
		}
	}
	return nil
}
