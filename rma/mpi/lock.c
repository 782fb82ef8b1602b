//go:build mpi

// The lock under which all threads call MPI, how they wait, and how much others need this rank.

#define _GNU_SOURCE
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "shim.h"
#include "internal.h"

enum { YIELDS = 200 }; // polls without a result until a thread sleeps

int fh_is_oversubscribed, fh_is_passive, fh_vain, fh_share = 1;
unsigned long fh_entered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int wanted; // threads that wait for the lock, or are about to take it

void fh_lock(void) {
	fh_lock_to_wait();
	fh_entered++;
}

// fh_lock_to_wait is fh_lock for a thread that waits for other ranks with long pauses: the owner
// makes progress as if it did not.
void fh_lock_to_wait(void) {
	__atomic_fetch_add(&wanted, 1, __ATOMIC_RELAXED);
	fr_lock(&lock);
	__atomic_fetch_sub(&wanted, 1, __ATOMIC_RELAXED);
}

// fh_try_lock takes the lock if no other thread has it or waits for it: who polls would otherwise take
// it again before one that it has woken.
int fh_try_lock(void) {
	return __atomic_load_n(&wanted, __ATOMIC_RELAXED) == 0 && pthread_mutex_trylock(&lock) == 0;
}

void fh_unlock(void) { pthread_mutex_unlock(&lock); }

int64_t fh_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int pollers; // threads that wait for an answer, and so take all messages

void fh_polling(int more) { __atomic_fetch_add(&pollers, more, __ATOMIC_RELAXED); }

int fh_is_polled(void) { return __atomic_load_n(&pollers, __ATOMIC_RELAXED) > 0; }

// fh_give_way lets other threads run between the polls of a thread that waits. After some without a
// result it sleeps for a moment, as one that only yields may keep a thread that has work to do
// waiting for milliseconds. Not before most answers have come: on a virtual machine the moment
// takes 45 us. Where ranks are as many as processors it only yields: each of their steps would wait
// for a sleeper.
void fh_give_way(int vain) {
	static const struct timespec shortNap = {0, 3000};
	static __thread int isExact;
	if (fh_is_oversubscribed || vain < YIELDS) {
		sched_yield();
		return;
	}
	if (!isExact)
		prctl(PR_SET_TIMERSLACK, 1000); // a nap may so be short
	isExact = 1;
	nanosleep(&shortNap, NULL);
}

static int64_t hotUntil;      // others use the memory of this rank, in nanoseconds
static int64_t messagesUntil; // others send messages to it, as the former

void fh_heat(void) {
	hotUntil = fh_now() + FH_HOT_NS;
	fh_vain = 0;
}

void fh_heat_for_messages(void) {
	fh_heat();
	messagesUntil = hotUntil;
}

// fh_demand is how much others need the owner, where no thread of this rank calls MPI.
int fh_demand(void) { return fh_now() < hotUntil ? FH_HOT : FH_IDLE; }

// fh_demand_beside is that while other threads of this rank call MPI.
int fh_demand_beside(void) {
	if (fh_is_polled())
		return FH_IDLE; // they take all messages
	return fh_now() < messagesUntil ? FH_HOT : FH_ACTIVE;
}
