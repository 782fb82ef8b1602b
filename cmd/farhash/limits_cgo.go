//go:build cgo && linux

package main

/*
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// How much the runtime of Go reserves, as minAddressBytes, and how many threads it starts besides
// one for each processor, at most. Each has a stack of ulimit -s.
#define RUNTIME_BYTES (1280ull << 20)
#define MORE_THREADS 16

// Where there is a limit of addresses the runtime of Go might end the program before main, with a
// traceback and the exit code for wrong usage. The allocator of the C library would reserve 64 MiB
// for each thread; it is to have one arena for all.
__attribute__((constructor)) static void beforeGo(void) {
	struct rlimit limit, stack;
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
		return;
	}
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
	unsigned long long each = 2 << 20, need = RUNTIME_BYTES;
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY) {
		each = stack.rlim_cur;
	}
	need += each * (sysconf(_SC_NPROCESSORS_ONLN) + MORE_THREADS);
	if (limit.rlim_cur < need) {
		fprintf(stderr, "farhash: this process is limited to %llu MiB of virtual memory, and the "
			"runtime of Go with its threads takes up to %llu MiB: raise the limit (ulimit -v "
			"unlimited)\n", (unsigned long long)limit.rlim_cur >> 20, need >> 20);
		_exit(1);
	}
}
*/
import "C"

// beforeGo: limits are examined before the runtime of Go begins.
const beforeGo = true
