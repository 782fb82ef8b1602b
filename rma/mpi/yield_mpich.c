//go:build mpi && mpich

// MPICH waits without letting go of the core. Where ranks outnumber cores, each wait then
// takes the rank that is waited for a slice of time. MPICH over UCX waits in
// ucp_worker_progress, which this takes the place of: after looks in vain it yields, and
// then it sleeps.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#include "shim.h"

static int crowded;

void fh_crowded(int yes) { crowded = yes; }

enum { YIELDS = 32 }; // in a row; then it sleeps

unsigned ucp_worker_progress(void *worker) {
	static unsigned (*progress)(void *);
	static int vain;
	static const struct timespec nap = {0, 10000};
	if (!progress)
		progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	unsigned found = progress(worker);
	if (found || !crowded)
		vain = 0;
	else if (vain++ < YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
	return found;
}
