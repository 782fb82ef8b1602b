package launch

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// vars is an environment.
type vars map[string]string

func (v vars) lookup(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

// with returns v with more variables; an empty value takes one away.
func (v vars) with(pairs ...string) vars {
	w := maps.Clone(v)
	for i := 0; i < len(pairs); i += 2 {
		w[pairs[i]] = pairs[i+1]
	}
	return w
}

// What the launchers set, as far as it matters.
var (
	farhashVars = vars{envRank: "1", envSize: "3", envJob: "run-1", envLocalSize: "3"}
	openMPIVars = vars{
		"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4",
		"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": "1673003009",
		"OMPI_MCA_orte_precondition_transports": "1141d1449e5a62ba-a8ba2f36dd4b7191",
	}
	pmiVars = vars{
		"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4", "PMI_JOBID": "77.0",
	}
	slurmVars = vars{
		"SLURM_PROCID": "3", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "11",
		"SLURM_NTASKS": "11", "SLURM_JOB_ID": "77", "SLURM_NODEID": "2",
		"SLURM_STEP_TASKS_PER_NODE": "4(x2),3",
	}
	torchVars = vars{
		"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
		"MASTER_ADDR": "host", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none",
	}
)

// detectTest is an environment with what is to be found in it.
type detectTest struct {
	name string
	vars vars
	want Membership
}

func checkDetect(t *testing.T, tests []detectTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, found, err := detect(test.vars.lookup, os.Getppid())
			if !found || err != nil || got != test.want {
				t.Errorf("got %+v, %v, %v, want %+v", got, found, err, test.want)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	const openMPIKey = "openmpi-1673003009-1141d1449e5a62ba-a8ba2f36dd4b7191"
	torchKey := sanitise("torchrun|none|host|29500|")
	merged := maps.Clone(slurmVars)
	for _, v := range []vars{torchVars, pmiVars, openMPIVars, farhashVars} {
		maps.Copy(merged, v)
	}
	noFarhash := merged.with(envRank, "", envSize, "", envJob, "", envLocalSize, "")
	noOpenMPI := noFarhash.with("OMPI_COMM_WORLD_RANK", "", "OMPI_COMM_WORLD_SIZE", "")
	noPMI := noOpenMPI.with("PMI_RANK", "", "PMI_SIZE", "")
	checkDetect(t, []detectTest{
		{"farhash", farhashVars, Membership{1, 3, 3, "run-1", Farhash}},
		{"openmpi", openMPIVars, Membership{1, 4, 2, openMPIKey, OpenMPI}},
		{"pmi", pmiVars, Membership{1, 4, 4, "pmi-PMI_JOBID-77.0", MPICH}},
		{"slurm", slurmVars, Membership{3, 11, 3, "slurm-77.0", Slurm}},
		{"torchrun", torchVars, Membership{1, 2, 2, torchKey, Torchrun}},
		{"all", merged, Membership{1, 3, 3, "run-1", Farhash}},
		{"all but farhash", noFarhash, Membership{1, 4, 2, openMPIKey, OpenMPI}},
		{"all but the MPIs", noPMI, Membership{3, 11, 3, "slurm-77.0", Slurm}},
		{"pmi in slurm", noOpenMPI, Membership{1, 4, 4, "pmi-PMI_JOBID-77.0", MPICH}},
		{
			"pmi in slurm without a job id", noOpenMPI.with("PMI_JOBID", ""),
			Membership{1, 4, 4, "slurm-77.0", MPICH},
		},
		{
			"key by hand", openMPIVars.with(envJob, "mine"),
			Membership{1, 4, 2, "mine", OpenMPI},
		},
		{
			"key unfit for a file name", openMPIVars.with(envJob, "../mine"),
			Membership{1, 4, 2, sanitise("../mine"), OpenMPI},
		},
		{
			"no local size", openMPIVars.with("OMPI_COMM_WORLD_LOCAL_SIZE", ""),
			Membership{1, 4, 0, openMPIKey, OpenMPI},
		},
		{
			"slurm with the older names", slurmVars.with("SLURM_STEP_ID", "",
				"SLURM_STEPID", "2", "SLURM_STEP_NUM_TASKS", "", "SLURM_JOB_ID", "",
				"SLURM_JOBID", "78", "SLURM_NODEID", ""),
			Membership{3, 11, 0, "slurm-78.2", Slurm},
		},
		{
			"torchrun after a restart", torchVars.with("TORCHELASTIC_RESTART_COUNT", "1"),
			Membership{1, 2, 2, sanitise("torchrun|none|host|29500|1"), Torchrun},
		},
	})
}

// Any of the variables that identify a job is enough.
func TestDetectKeys(t *testing.T) {
	checkDetect(t, []detectTest{
		{
			"torchrun with a run id alone", torchVars.with("MASTER_ADDR", "", "MASTER_PORT", ""),
			Membership{1, 2, 2, sanitise("torchrun|none|||"), Torchrun},
		},
		{
			"torchrun with a master alone", torchVars.with("TORCHELASTIC_RUN_ID", ""),
			Membership{1, 2, 2, sanitise("torchrun||host|29500|"), Torchrun},
		},
		{
			"openmpi 4 without a namespace",
			openMPIVars.with("PMIX_NAMESPACE", "", "OMPI_MCA_ess_base_jobid", "1673003009"),
			Membership{1, 4, 2, "openmpi-1673003009-1141d1449e5a62ba-a8ba2f36dd4b7191", OpenMPI},
		},
		{
			"pmi of PALS", pmiVars.with("PMI_JOBID", "", "PALS_APID", "5"),
			Membership{1, 4, 4, "pmi-PALS_APID-5", MPICH},
		},
	})
}

func TestDetectNotFound(t *testing.T) {
	tests := map[string]vars{
		"nothing":            {},
		"empty":              {envRank: "", "PMI_SIZE": ""},
		"a lone RANK":        {"RANK": "general"},
		"a lone key":         {envJob: "mine"},
		"salloc shell":       slurmVars.with("SLURM_STEP_ID", "", "SLURM_PROCID", "0"),
		"batch script":       slurmVars.with("SLURM_STEP_ID", "4294967291", "SLURM_PROCID", "0"),
		"interactive step":   slurmVars.with("SLURM_STEP_ID", "4294967290", "SLURM_PROCID", "0"),
		"first special step": slurmVars.with("SLURM_STEP_ID", "4294967280", "SLURM_PROCID", "0"),
		"step of one task":   slurmVars.with("SLURM_STEP_NUM_TASKS", "1", "SLURM_PROCID", "0"),
		"slurm without task": slurmVars.with(
			"SLURM_STEP_NUM_TASKS", "", "SLURM_NTASKS", "", "SLURM_PROCID", "0"),
	}
	for name, v := range tests {
		t.Run(name, func(t *testing.T) {
			if m, found, err := detect(v.lookup, os.Getppid()); found || err != nil {
				t.Errorf("got %+v, %v, %v, want nothing", m, found, err)
			}
		})
	}
}

// detectErrors are environments with what the error says of each.
var detectErrors = []struct {
	name string
	vars vars
	want []string // in the text of the error
}{
	{"no size", vars{envRank: "0"}, []string{"FARHASH_SIZE is not set", `FARHASH_RANK="0"`}},
	{"no rank", vars{"PMI_SIZE": "2"}, []string{"PMI_RANK is not set", `PMI_SIZE="2"`}},
	{"no RANK", torchVars.with("RANK", ""), []string{"RANK is not set", "WORLD_SIZE"}},
	{"no key", farhashVars.with(envJob, ""), []string{"FARHASH_JOB is not set"}},
	{
		"rank beyond", farhashVars.with(envRank, "3"),
		[]string{"FARHASH_RANK=3", "FARHASH_SIZE=3"},
	},
	{"negative", farhashVars.with(envRank, "-1"), []string{`FARHASH_RANK="-1"`}},
	{
		"no number", openMPIVars.with("OMPI_COMM_WORLD_SIZE", "two"),
		[]string{`OMPI_COMM_WORLD_SIZE="two"`},
	},
	{"size 0", farhashVars.with(envSize, "0"), []string{`FARHASH_SIZE="0"`}},
	{"local 0", pmiVars.with("MPI_LOCALNRANKS", "0"), []string{`MPI_LOCALNRANKS="0"`}},
	{"local beyond", pmiVars.with("MPI_LOCALNRANKS", "5"), []string{"MPI_LOCALNRANKS=5"}},
	{
		"openmpi without a key", openMPIVars.with("PMIX_NAMESPACE", ""),
		[]string{"PMIX_NAMESPACE is not set", envJob},
	},
	{"slurm step", slurmVars.with("SLURM_STEP_ID", "x"), []string{`SLURM_STEP_ID="x"`}},
	{
		"slurm tasks", slurmVars.with("SLURM_STEP_NUM_TASKS", "x"),
		[]string{`SLURM_STEP_NUM_TASKS="x"`},
	},
	{
		"slurm without tasks", slurmVars.with("SLURM_STEP_NUM_TASKS", "0"),
		[]string{`SLURM_STEP_NUM_TASKS="0"`},
	},
	{"slurm node", slurmVars.with("SLURM_NODEID", "x"), []string{`SLURM_NODEID="x"`}},
	{"slurm node -1", slurmVars.with("SLURM_NODEID", "-1"), []string{`SLURM_NODEID="-1"`}},
	{
		"slurm nodes", slurmVars.with("SLURM_STEP_TASKS_PER_NODE", "4(x"),
		[]string{`SLURM_STEP_TASKS_PER_NODE="4(x"`},
	},
	{
		"slurm nodes not closed", slurmVars.with("SLURM_STEP_TASKS_PER_NODE", "4(x3"),
		[]string{`SLURM_STEP_TASKS_PER_NODE="4(x3"`},
	},
	{
		"slurm nodes, none of them", slurmVars.with("SLURM_STEP_TASKS_PER_NODE", "4(x0),3"),
		[]string{`SLURM_STEP_TASKS_PER_NODE="4(x0),3"`},
	},
	{
		"slurm nodes without tasks", slurmVars.with("SLURM_STEP_TASKS_PER_NODE", "0(x2),3"),
		[]string{`SLURM_STEP_TASKS_PER_NODE="0(x2),3"`},
	},
	{"slurm job", slurmVars.with("SLURM_JOB_ID", ""), []string{"SLURM_JOB_ID is not set"}},
	{
		"torchrun without a key",
		torchVars.with("TORCHELASTIC_RUN_ID", "", "MASTER_PORT", ""),
		[]string{"MASTER_PORT", envJob},
	},
	{
		"torchrun with a port alone",
		torchVars.with("TORCHELASTIC_RUN_ID", "", "MASTER_ADDR", ""),
		[]string{"MASTER_ADDR", envJob},
	},
}

func TestDetectErrors(t *testing.T) {
	for _, test := range detectErrors {
		t.Run(test.name, func(t *testing.T) {
			m, found, err := detect(test.vars.lookup, os.Getppid())
			if err == nil || found {
				t.Fatalf("got %+v, %v, no error", m, found)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %s", err, want)
				}
			}
		})
	}
}

// Without a proxy and a job id the parent is what the ranks have in common.
func TestPMIWithoutProxy(t *testing.T) {
	v := vars{"PMI_RANK": "0", "PMI_SIZE": "2"}
	mine, _, err := detect(v.lookup, os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	others, _, err := detect(v.lookup, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if mine.Job == others.Job {
		t.Errorf("one key %q for two parents", mine.Job)
	}
	if m, _, err := detect(v.lookup, 1); err == nil {
		t.Errorf("got %+v for a parent that is gone, want an error", m)
	}
}

func TestSlurmLocalSize(t *testing.T) {
	tests := []struct {
		list, node string
		want       int
	}{
		{"4(x2),3", "0", 4},
		{"4(x2),3", "1", 4},
		{"4(x2),3", "2", 3},
		{"4(x2),3", "3", 0},
		{"8", "0", 8},
		{"11", "0", 11},
		{"12", "0", 0},
		{"99", "0", 0},
		{"", "0", 0},
	}
	for _, test := range tests {
		v := vars{"SLURM_STEP_TASKS_PER_NODE": test.list, "SLURM_NODEID": test.node}
		got, err := slurmLocalSize(v.lookup, 11)
		if got != test.want || err != nil {
			t.Errorf("list %q, node %s: %d, %v, want %d", test.list, test.node, got, err, test.want)
		}
	}
	both := vars{"SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_TASKS_PER_NODE": "3",
		"SLURM_NODEID": "0"}
	if got, err := slurmLocalSize(both.lookup, 11); got != 2 || err != nil {
		t.Errorf("of a step in an allocation: %d, %v, want 2", got, err)
	}
}

func TestSanitise(t *testing.T) {
	fit := []string{"run-0123", "slurm-77.0", strings.Repeat("x", maxKeyBytes)}
	for _, key := range fit {
		if got := sanitise(key); got != key {
			t.Errorf("sanitise(%q) = %q, want it as it is", key, got)
		}
	}
	seen := map[string]string{}
	long := strings.Repeat("x", maxKeyBytes+1)
	unfit := []string{"a/b", "a b", "..", ".a", "", "ä", "a\x00", long}
	for _, key := range unfit {
		got := sanitise(key)
		if strings.Trim(got, "0123456789abcdef") != "" || len(got) != 32 {
			t.Errorf("sanitise(%q) = %q, want a hash", key, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("sanitise(%q) = sanitise(%q)", key, other)
		}
		seen[got] = key
	}
}
