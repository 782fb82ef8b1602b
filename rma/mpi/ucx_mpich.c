//go:build mpi && mpich

// Two workarounds for MPICH over UCX. A function of this program replaces one of UCX that MPICH calls,
// since the linker searches the program first. Over other networks they have no effect.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include "shim.h"
#include "internal.h"

enum { YIELDS = 32 }; // polls without progress until it sleeps

// MPICH waits without yielding the core: where ranks outnumber cores, each wait takes a time slice
// from the rank that it waits for. After polls without progress this yields, and then sleeps.
unsigned ucp_worker_progress(void *worker) {
	static unsigned (*progress)(void *);
	static int vain;
	static const struct timespec nap = {0, 10000};
	if (!progress)
		progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	unsigned found = progress(worker);
	if (found || !fh_is_crowded)
		vain = 0;
	else if (vain++ < YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
	return found;
}

// In MPI_Finalize a rank waits until the others answer its disconnect, and ranks that have finished
// give no answer: over TCP it never ends. All ranks have left by then and nothing is in flight, so
// this does not disconnect.
void *ucp_disconnect_nb(void *endpoint) {
	static void *(*disconnect)(void *);
	if (!disconnect)
		disconnect = (void *(*)(void *))dlsym(RTLD_NEXT, "ucp_disconnect_nb");
	return fh_is_ending ? NULL : disconnect(endpoint);
}
