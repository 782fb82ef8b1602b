//go:build mpi && mpich

// Workarounds for MPICH over UCX. A function of this program, or of the library for C, replaces one of
// UCX that MPICH calls, since the linker searches it first. Over other networks they have no effect.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim.h"
#include "internal.h"

enum { YIELDS = 32 }; // polls without progress until it sleeps

static unsigned (*progress)(void *);
static void *lastWorker; // MPICH has one

// MPICH waits without yielding the core: where ranks outnumber cores, each wait takes a time slice
// from the rank that it waits for. After polls without progress this yields, and then sleeps.
unsigned ucp_worker_progress(void *worker) {
	static int vain;
	static const struct timespec nap = {0, 10000};
	if (!progress)
		progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	lastWorker = worker;
	unsigned found = progress(worker);
	if (found || !fh_is_oversubscribed)
		vain = 0;
	else if (vain++ < YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
	return found;
}

enum { QUIET_NS = 20000000, SENDING_NS = 1000000000 };

// send_rest sends what is still to be sent: until nothing happens for a moment. A flush would wait for
// ranks that have finished, as a disconnect does.
static void send_rest(void) {
	int64_t now = fh_now(), quiet = now + QUIET_NS, end = now + SENDING_NS;
	for (; progress && now < quiet && now < end; now = fh_now())
		if (progress(lastWorker))
			quiet = now + QUIET_NS;
}

// is_of_mpich is whether the code at an address is in libmpich.so, or libmpi.so as some name it.
static int is_of_mpich(void *address) {
	Dl_info code;
	const char *file = dladdr(address, &code) ? strrchr(code.dli_fname, '/') : NULL;
	return file && strncmp(file, "/libmpi", 7) == 0;
}

// MPICH calls this in MPI_Finalize alone. There a rank waits until the others answer its disconnect,
// and ranks that have finished give no answer: over TCP it never ends. So this sends what is still to
// be sent, and does not disconnect; MPICH waits for all ranks after it. A rank that has joined no job
// does the same, since others may have.
void *ucp_disconnect_nb(void *endpoint) {
	static void *(*disconnect)(void *);
	static int isSent;
	if (!disconnect)
		disconnect = (void *(*)(void *))dlsym(RTLD_NEXT, "ucp_disconnect_nb");
	if (!is_of_mpich(__builtin_return_address(0)))
		return disconnect(endpoint);
	if (!isSent)
		send_rest();
	isSent = 1;
	return NULL;
}

static int has_entries(const char *folder) {
	DIR *d = opendir(folder);
	struct dirent *e = NULL;
	while (d && (e = readdir(d)) && e->d_name[0] == '.')
		;
	if (d)
		closedir(d);
	return e != NULL;
}

// Over TCP a rendezvous takes several messages more. UCX reads this in MPI_Init, which a program may
// call before it calls the engine.
__attribute__((constructor)) static void prefer_eager(void) {
	const char *ranks = getenv("PMI_SIZE"), *here = getenv("MPI_LOCALNRANKS");
	if (ranks && here && strcmp(ranks, here) != 0 && !has_entries("/sys/class/infiniband") &&
		!has_entries("/sys/class/cxi"))
		setenv("UCX_RNDV_THRESH", "128k", 0);
}
