// Package launch answers two questions about a job of many processes: which
// rank of which job is this process, and how are the ranks of a job started.
//
// # Which rank am I
//
// [Detect] reads the environment variables of launchers. The first
// launcher of this list that has set its variables is chosen:
//
//	launcher   rank, size                      ranks on this host         job key from
//	farhash    FARHASH_RANK, FARHASH_SIZE      FARHASH_LOCAL_SIZE         FARHASH_JOB
//	openmpi    OMPI_COMM_WORLD_RANK, _SIZE     OMPI_COMM_WORLD_LOCAL_SIZE PMIX_NAMESPACE
//	mpich      PMI_RANK, PMI_SIZE              MPI_LOCALNRANKS            the hydra proxy
//	slurm      SLURM_PROCID, SLURM_STEP_*      SLURM_STEP_TASKS_PER_NODE  job id, step id
//	torchrun   RANK, WORLD_SIZE                LOCAL_WORLD_SIZE           run id, master
//
// "mpich" stands for every launcher that speaks PMI. An empty variable counts
// as unset. Variables of the chosen launcher that are half set or malformed are
// an error, because the other ranks would wait for a rank that continues alone. Two
// cases are no error but "not found": RANK without WORLD_SIZE, since many
// programs use the name RANK, and the Slurm variables of a batch script or of an
// salloc shell, which name an allocation but start one process only.
//
// Where one launcher starts another one, the variables of the outer launcher
// stay set; those that come earlier in the list must be unset for the inner one.
//
// # Which job am I in
//
// [Membership.Job] is equal in all ranks of a job and differs between jobs that
// run at the same time. It may be part of a file name. FARHASH_JOB, set by
// hand, decides under every launcher; it must be the same in all ranks.
//
// Open MPI names the job in PMIX_NAMESPACE (version 4 makes it of 16 bits of the
// process id of mpirun, so the random transport key of the job is added).
// MPICH sets no variable that identifies a job: they are equal in all jobs. So the
// key is the process id and the start time of the common ancestor of the ranks,
// the hydra_pmi_proxy of this host. On Linux there may be wrappers between the
// proxy and the program, as /proc lists ancestors. On other systems the parent
// process must be the proxy, or FARHASH_JOB must be set.
//
// # Starting ranks
//
// [Run] starts all ranks on this host and waits for them:
//
//   - Each rank is the leader of a process group, so Ctrl-C in a terminal
//     reaches the launcher alone. It passes SIGINT, SIGTERM, SIGHUP and SIGQUIT
//     on to the groups of all ranks; a second SIGINT kills them at once. Ctrl-Z
//     stops the launcher only.
//   - When a rank fails, the others have [Options.Grace] to finish, then get
//     SIGTERM, then after as long again SIGKILL. The exit code is from the
//     first rank that failed, 128 plus the signal for one that a signal killed;
//     it is [ExitRankLost] where another rank ends with that because of it. A rank
//     that ends with [ExitRankLost] before the one that it lost is not the first. With
//     [Options.Survive] the others continue when a signal has killed a rank.
//   - On Linux the kernel kills the ranks when the launcher dies. That covers
//     the processes that the launcher started: of a wrapper that does not exec
//     the program, only the wrapper.
//   - Output is passed on in whole lines. Run returns when all ranks have
//     exited and their output is closed. So it also waits for a background process
//     of a rank that holds its output.
//   - Rank 0 reads the standard input, the other ranks read /dev/null.
//
// A job of several hosts has one Run on each, which starts its part of the ranks. They connect to
// the address of a [Rendezvous]: FARHASH_RENDEZVOUS and FARHASH_TOKEN, which farhash run sets and
// which are set by hand under other launchers.
package launch
