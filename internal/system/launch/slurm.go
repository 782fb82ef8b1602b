package launch

import (
	"fmt"
	"strconv"
	"strings"
)

// Step ids from here up name no step that srun started: 4294967290 is the
// shell of salloc, 4294967291 the batch script.
const slurmSpecialSteps = 0xfffffff0

// slurmStarted reports whether srun started this process as one of several. In
// an allocation the variables of Slurm are set for every process, so the step
// id decides whether this process belongs to a step.
func slurmStarted(e environ, _ source) (bool, error) {
	name, text := e.first("SLURM_STEP_ID", "SLURM_STEPID")
	if text == "" || e.get("SLURM_PROCID") == "" {
		return false, nil
	}
	step, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return false, fmt.Errorf("%s=%q is not the number of a step; "+
			"unset it or start the program with srun", name, Cut(text))
	}
	if step >= slurmSpecialSteps {
		return false, nil
	}
	// The tasks of the step decide: the tasks of the job may be more.
	name, text = e.first("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
	if text == "" {
		return false, nil
	}
	tasks, err := strconv.Atoi(text)
	if err != nil || tasks < 1 {
		return false, fmt.Errorf("%s=%q is not a number of tasks; "+
			"unset it or start the program with srun", name, Cut(text))
	}
	return tasks > 1, nil
}

func slurmJob(e environ, _ int) (string, error) {
	_, job := e.first("SLURM_JOB_ID", "SLURM_JOBID")
	if job == "" {
		return "", fmt.Errorf("SLURM_JOB_ID is not set though SLURM_PROCID=%q is; "+
			"set %s to one string for all ranks of the job",
			Cut(e.get("SLURM_PROCID")), envJob)
	}
	_, step := e.first("SLURM_STEP_ID", "SLURM_STEPID")
	return "slurm-" + job + "." + step, nil
}

// slurmLocalSize reads the tasks of this node off the list of all nodes, such
// as "4(x2),3": four tasks on nodes 0 and 1, three on node 2.
func slurmLocalSize(e environ, size int) (int, error) {
	name, list := e.first("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
	nodeText := e.get("SLURM_NODEID")
	if list == "" || nodeText == "" {
		return 0, nil
	}
	node, err := strconv.Atoi(nodeText)
	if err != nil || node < 0 {
		return 0, fmt.Errorf("SLURM_NODEID=%q is not the number of a node; "+
			"unset it or start the program with srun", Cut(nodeText))
	}
	for group := range strings.SplitSeq(list, ",") {
		tasks, nodes, ok := slurmNodeGroup(group)
		if !ok {
			return 0, fmt.Errorf("%s=%q is not a list such as 4(x2),3; "+
				"unset it or start the program with srun", name, Cut(list))
		}
		if node >= nodes {
			node -= nodes
			continue
		}
		if tasks > size {
			// The list of the allocation, in a step that uses only part of it.
			return 0, nil
		}
		return tasks, nil
	}
	return 0, nil
}

// slurmNodeGroup parses "4(x2)" or "4".
func slurmNodeGroup(group string) (tasks, nodes int, ok bool) {
	count, repeat, repeated := strings.Cut(group, "(x")
	nodes = 1
	if repeated {
		digits, closed := strings.CutSuffix(repeat, ")")
		n, err := strconv.Atoi(digits)
		if err != nil || !closed || n < 1 {
			return 0, 0, false
		}
		nodes = n
	}
	tasks, err := strconv.Atoi(count)
	return tasks, nodes, err == nil && tasks >= 1
}
