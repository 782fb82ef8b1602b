package launch

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxKeyBytes leaves room in a file name for what is put around a key.
const maxKeyBytes = 64

const keyCharacters = "abcdefghijklmnopqrstuvwxyz" +
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "0123456789" + "._-"

// sanitise makes a key fit for a file name. A key that is fit stays as it is, so
// that a name set by hand can be recognised; another one is replaced by its
// hash, so that different keys stay different.
func sanitise(key string) string {
	fit := key != "" && len(key) <= maxKeyBytes && !strings.HasPrefix(key, ".") &&
		strings.Trim(key, keyCharacters) == ""
	if fit {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// newJob returns a key for a job that is about to start.
func newJob() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return "run-" + hex.EncodeToString(b[:])
}

func farhashJob(e environ, _ int) (string, error) {
	return "", fmt.Errorf("%s is not set though %s=%q is; "+
		"set it to one string for all ranks of the job", envJob, envRank, Cut(e.get(envRank)))
}

// openMPIJob: version 4 sets all of these, version 5 only PMIX_NAMESPACE.
func openMPIJob(e environ, _ int) (string, error) {
	_, id := e.first("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri")
	if id == "" {
		return "", fmt.Errorf("PMIX_NAMESPACE is not set though OMPI_COMM_WORLD_RANK=%q is; "+
			"set %s to one string for all ranks of the job",
			Cut(e.get("OMPI_COMM_WORLD_RANK")), envJob)
	}
	// In version 4 the id holds 16 bits of the process id of mpirun, and two
	// jobs may share it. The transport key is random.
	return "openmpi-" + id + "-" + e.get("OMPI_MCA_orte_precondition_transports"), nil
}

// hydraProxy is the process that starts the ranks of one job on one host, as
// the kernel names it.
const hydraProxy = "hydra_pmi_proxy"

// pmiJob: the variables of hydra are the same in every job, so its proxy identifies
// the job. Other launchers that speak PMI name it.
func pmiJob(e environ, ppid int) (string, error) {
	if p, ok := ancestor(ppid, hydraProxy); ok {
		return fmt.Sprintf("mpich-%d.%s", p.pid, p.start), nil
	}
	if name, id := e.first("PMI_JOBID", "PALS_APID"); id != "" {
		return "pmi-" + name + "-" + id, nil
	}
	if _, step := e.first("SLURM_STEP_ID", "SLURM_STEPID"); step != "" {
		return slurmJob(e, ppid)
	}
	if ppid <= 1 {
		// The parent is gone, or in another process namespace.
		return "", fmt.Errorf("PMI_RANK=%q, but no variable identifies the job; "+
			"set %s to one string for all ranks of the job", Cut(e.get("PMI_RANK")), envJob)
	}
	p := process{pid: ppid}
	if found, ok := readProcess(ppid); ok {
		p = found
	}
	return fmt.Sprintf("pmi-%d.%s", p.pid, p.start), nil
}

// torchrunJob: the run id is "none" unless it was chosen, so the address of the
// master is part of the key. After a failure torchrun starts the ranks again with
// a higher restart count, and they must not use what the first ones left.
func torchrunJob(e environ, _ int) (string, error) {
	id, addr, port := e.get("TORCHELASTIC_RUN_ID"), e.get("MASTER_ADDR"), e.get("MASTER_PORT")
	if id == "" && (addr == "" || port == "") {
		return "", fmt.Errorf("RANK=%q and WORLD_SIZE=%q are set, but neither "+
			"TORCHELASTIC_RUN_ID nor MASTER_ADDR and MASTER_PORT identify the job; "+
			"set %s to one string for all ranks of the job",
			Cut(e.get("RANK")), Cut(e.get("WORLD_SIZE")), envJob)
	}
	restarts := e.get("TORCHELASTIC_RESTART_COUNT")
	return strings.Join([]string{"torchrun", id, addr, port, restarts}, "|"), nil
}
