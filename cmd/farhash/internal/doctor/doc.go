// Package doctor is the command farhash doctor: it finds the settings and limits of this machine
// that matter to ranks, and tries out what ranks need, with a remedy where one is needed.
//
// # Findings
//
// A [Finding] has a [Level]: OK; Note, for what costs speed or memory in some cases; Warning, for
// what does not work or costs much. Each that is not OK has a remedy: a command or a setting. A
// [Report] is printed for people, in 80 columns, or as one JSON object. Names of findings, levels
// and values stay as they are.
//
// # What is read
//
// [Machine.Findings] reads, below a root that tests make up:
//
//	CPUs            /sys/devices/system/cpu/online against Cpus_allowed_list of
//	                /proc/self/status, which launchers restrict; GOMAXPROCS
//	CPU limit       cpu.max or cpu.cfs_quota_us of the control groups
//	memory limit    memory.max or memory.limit_in_bytes of the control groups
//	huge pages      /sys/kernel/mm/transparent_hugepage/enabled
//	shared pages    .../shmem_enabled, and whether the kernel collapses pages on demand
//	reserved pages  HugePages_Total and _Free of /proc/meminfo
//	shared memory   size and free bytes of /dev/shm, where segments of ranks on one host are
//	locked memory   /proc/self/limits against /sys/class/infiniband: cards lock the memory
//	                that they access
//	open files      /proc/self/limits
//
// [Machine.Ports] reads ports, drivers and GIDs of cards below /sys/class/infiniband, which is
// compared with what UCX uses.
//
// # What is tried out
//
// doctor.go makes windows of ranks that are goroutines and processes. mpi.go starts two ranks under
// the launcher of the MPI that is built in, ucx.go a process that lists the devices of UCX and has
// two ranks work over them; both are this program again, by hidden flags. cards.go and listen.go
// judge what UCX reports.
package doctor
