//go:build mpi

// The thread that owns MPI.

#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"
#include "internal.h"

static fh_facts facts;
static int phase = FH_STARTING;
static int finish;
static struct timespec nap;

enum { LONG = 8 }; // a nap is so much longer where this rank itself keeps calling MPI

void fh_library(char *text, int size) {
	char all[MPI_MAX_LIBRARY_VERSION_STRING];
	int n;
	MPI_Get_library_version(all, &n);
	strncpy(text, all, size - 1);
	text[size - 1] = 0;
}

void fh_error_text(int code, char *text, int size) {
	char all[MPI_MAX_ERROR_STRING] = "";
	int n;
	fh_lock();
	MPI_Error_string(code, all, &n);
	fh_unlock();
	strncpy(text, all, size - 1);
	text[size - 1] = 0;
}

static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
	MPI_THREAD_MULTIPLE};

static void initialise(void) {
	int done = 0, provided = MPI_THREAD_SINGLE;
	MPI_Initialized(&done);
	if (!done && fh_is_passive) {
		facts.code = MPI_ERR_OTHER;
		return;
	}
	if (!done) {
		facts.ours = 1;
		facts.code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
		if (facts.code != MPI_SUCCESS)
			return;
	}
	MPI_Query_thread(&provided);
	for (int i = 0; i < 4; i++)
		if (levels[i] == provided)
			facts.level = i;
	if (provided < MPI_THREAD_SERIALIZED && !fh_is_passive)
		return; // only the program's own thread may ask for more
	facts.world = MPI_Comm_c2f(MPI_COMM_WORLD);
	MPI_Comm_rank(MPI_COMM_WORLD, &facts.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &facts.size);
}

// progress lets the library work for other ranks, unless this rank did so just now. It takes
// messages in any case.
static int progress(void) {
	static unsigned long seen;
	if (fh_is_polled() || !fh_try_lock())
		return fh_demand_beside();
	int alone = seen == fh_entered;
	fh_receive_others(NULL, alone);
	seen = fh_entered;
	int demand = alone ? fh_demand() : fh_demand_beside();
	fh_unlock();
	return demand;
}

// serve makes progress until the end: almost all the time while others use this rank's memory or
// send it messages, and otherwise at intervals. A rank that keeps calling MPI needs it
// rarely; each poll costs that rank's thread more than a microsecond.
static void serve(void) {
	static const struct timespec sharedNap = {0, 5000};
	struct timespec now = {0, 0};
	prctl(PR_SET_TIMERSLACK, 1000); // a nap may so be short
	while (!__atomic_load_n(&finish, __ATOMIC_ACQUIRE)) {
		int demand = progress();
		if (demand == FH_HOT) {
			if (fh_is_oversubscribed)
				nanosleep(&sharedNap, NULL);
			else
				fh_give_way(fh_vain++);
			continue;
		}
		long least = nap.tv_nsec * __atomic_load_n(&fh_share, __ATOMIC_RELAXED);
		now.tv_nsec = demand != FH_ACTIVE || now.tv_nsec < least ? least :
			now.tv_nsec < least * LONG ? now.tv_nsec * 2 : now.tv_nsec;
		nanosleep(&now, NULL);
	}
}

static void *own(void *unused) {
	fh_lock_to_wait();
	initialise();
	fh_unlock();
	__atomic_store_n(&phase, facts.code ? FH_FAILED : FH_RUNNING, __ATOMIC_RELEASE);
	if (facts.code)
		return unused;
	serve();
	fh_lock_to_wait();
	if (facts.ours)
		MPI_Finalize();
	fh_unlock();
	__atomic_store_n(&phase, FH_FINISHED, __ATOMIC_RELEASE);
	return unused;
}

// fh_start starts the owner.
int fh_start(long napNs) {
	pthread_t thread;
	nap.tv_nsec = napNs;
	finish = 0;
	memset(&facts, 0, sizeof facts);
	phase = FH_STARTING;
	int err = fr_start(&thread, own, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
}

void fh_attach(void) {
	memset(&facts, 0, sizeof facts);
	fh_is_passive = 1;
	fh_lock_to_wait();
	initialise();
	fh_unlock();
	phase = facts.code ? FH_FAILED : FH_RUNNING;
}

int fh_phase(fh_facts *f) {
	int p = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	if (p != FH_STARTING)
		*f = facts;
	return p;
}

void fh_crowd(int ranks, int cores) {
	fh_is_oversubscribed = ranks >= cores;
	__atomic_store_n(&fh_share, (ranks + cores - 1) / cores, __ATOMIC_RELAXED);
}

void fh_finish(void) {
	if (fh_is_passive) {
		fh_is_passive = 0;
		phase = FH_FINISHED;
	}
	__atomic_store_n(&finish, 1, __ATOMIC_RELEASE);
}

static const char *guardText;
static struct sigaction unguarded;

static void lastWords(int sig) {
	ssize_t n = write(2, guardText, strlen(guardText));
	(void)n;
	sigaction(sig, &unguarded, NULL); // the fault comes again, and Go reports it
}

// fh_guard has a crash print a text; NULL ends that.
void fh_guard(const char *text) {
	struct sigaction act;
	memset(&act, 0, sizeof act);
	act.sa_handler = lastWords;
	act.sa_flags = SA_ONSTACK;
	guardText = text;
	if (text)
		sigaction(SIGSEGV, &act, &unguarded);
	else
		sigaction(SIGSEGV, &unguarded, NULL);
}
