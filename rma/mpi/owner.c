//go:build mpi

// The thread that owns MPI, and the lock under which all threads call it.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"
#include "internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long entered; // how often MPI was called by others than the owner
static fh_facts facts;
static int phase = FH_STARTING;
static int finish;
static struct timespec nap;
static fh_job *jobs;    // that the owner makes progress for
static int64_t hotUntil; // others use the memory of this rank, in nanoseconds
static volatile int64_t messagesUntil; // others send messages to it, as the former
static int vain;                       // polls of the owner since the last message or poke

int fh_is_crowded, fh_is_ending, fh_is_passive;

enum {
	LOCK_TRIES = 1000, // the owner holds the lock for less than this
	LONG = 8,          // a nap is so much longer where this rank itself keeps calling MPI
	YIELDS = 200,      // polls in vain until a thread sleeps
};

static int wanted; // threads that wait for the lock, or are about to take it

void fh_lock(void) {
	fh_lock_to_wait();
	entered++;
}

// fh_lock_to_wait is fh_lock for a thread that waits for other ranks with long pauses: the owner
// makes progress as if it did not.
void fh_lock_to_wait(void) {
	__atomic_fetch_add(&wanted, 1, __ATOMIC_RELAXED);
	for (int i = 0; pthread_mutex_trylock(&lock) != 0; i++)
		if (i == LOCK_TRIES) {
			pthread_mutex_lock(&lock);
			break;
		}
	__atomic_fetch_sub(&wanted, 1, __ATOMIC_RELAXED);
}

// tryLock takes the lock if no other thread has it or waits for it: who polls would otherwise take
// it again before one that it has woken.
static int tryLock(void) {
	return __atomic_load_n(&wanted, __ATOMIC_RELAXED) == 0 && pthread_mutex_trylock(&lock) == 0;
}

// fh_receive_all takes the messages of all jobs, and returns an error of this one. Who waits for an
// answer in a job would otherwise keep ranks waiting that ask this one in another job.
int fh_receive_all(fh_job *job) {
	for (fh_job *j = jobs; j; j = j->next)
		if (j != job && j->serves)
			fh_receive(j);
	return fh_receive(job);
}

int fh_poll(fh_job *job) {
	if (!tryLock())
		return 0; // the thread that has it makes progress
	entered++;
	int err = job->gone ? FH_GONE : fh_receive_all(job);
	fh_unlock();
	return err;
}

static int pollers; // threads that wait for an answer, and so take all messages

void fh_polling(int more) { __atomic_fetch_add(&pollers, more, __ATOMIC_RELAXED); }

// fh_give_way lets other threads run between the polls of a thread that waits. After some in vain
// it sleeps for a moment, as one that only yields may keep a thread that has work to do waiting
// for milliseconds. Not before most answers have come: on a virtual machine the moment takes 45 us.
// Where ranks are as many as processors it only yields: each of their steps would wait for a
// sleeper.
void fh_give_way(int vain) {
	static const struct timespec shortNap = {0, 3000};
	static __thread int isExact;
	if (fh_is_crowded || vain < YIELDS) {
		sched_yield();
		return;
	}
	if (!isExact)
		prctl(PR_SET_TIMERSLACK, 1000); // a nap may so be short
	isExact = 1;
	nanosleep(&shortNap, NULL);
}

void fh_unlock(void) { pthread_mutex_unlock(&lock); }

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

int64_t fh_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void fh_heat(void) {
	hotUntil = fh_now() + FH_HOT_NS;
	vain = 0;
}

void fh_heat_for_messages(void) {
	fh_heat();
	messagesUntil = hotUntil;
}

// No thread calls MPI; this rank does; others wait for the owner.
enum { IDLE, ACTIVE, HOT };

// active is the state while other threads of this rank call MPI.
static int active(void) {
	if (__atomic_load_n(&pollers, __ATOMIC_RELAXED) > 0)
		return IDLE; // they take all messages
	return fh_now() < messagesUntil ? HOT : ACTIVE;
}

// progress lets the library work for other ranks, unless this rank did so just now. It takes
// messages in any case.
static int progress(void) {
	static unsigned long seen;
	if (__atomic_load_n(&pollers, __ATOMIC_RELAXED) > 0 || !tryLock())
		return active();
	int alone = seen == entered;
	for (fh_job *j = jobs; j; j = j->next)
		if (alone || j->serves)
			fh_receive(j);
	seen = entered;
	int state = !alone ? active() : fh_now() < hotUntil ? HOT : IDLE;
	pthread_mutex_unlock(&lock);
	return state;
}

// serve makes progress until the end: almost all the time while others use this rank's memory or
// send it messages, and otherwise at intervals. A rank that keeps calling MPI needs it
// rarely; each poll costs that rank's thread more than a microsecond.
static void serve(void) {
	static const struct timespec crowdedNap = {0, 5000};
	struct timespec now = nap;
	prctl(PR_SET_TIMERSLACK, 1000); // a nap may so be short
	while (!__atomic_load_n(&finish, __ATOMIC_ACQUIRE)) {
		int state = progress();
		if (state == HOT) {
			if (fh_is_crowded)
				nanosleep(&crowdedNap, NULL);
			else
				fh_give_way(vain++);
			continue;
		}
		now.tv_nsec = state != ACTIVE ? nap.tv_nsec :
			now.tv_nsec < nap.tv_nsec * LONG ? now.tv_nsec * 2 : now.tv_nsec;
		nanosleep(&now, NULL);
	}
}

static void *own(void *unused) {
	pthread_mutex_lock(&lock);
	initialise();
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&phase, facts.code ? FH_FAILED : FH_RUNNING, __ATOMIC_RELEASE);
	if (facts.code)
		return unused;
	serve();
	pthread_mutex_lock(&lock);
	if (facts.ours) {
		fh_is_ending = 1;
		MPI_Finalize();
	}
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&phase, FH_FINISHED, __ATOMIC_RELEASE);
	return unused;
}

// fh_start starts the owner. It blocks signals, except those of a crash: Go handles them on other
// threads.
int fh_start(long napNs) {
	sigset_t all, before;
	pthread_t thread;
	nap.tv_nsec = napNs;
	finish = 0;
	memset(&facts, 0, sizeof facts);
	phase = FH_STARTING;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGFPE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, NULL, own, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
}

void fh_attach(void) {
	memset(&facts, 0, sizeof facts);
	fh_is_passive = 1;
	pthread_mutex_lock(&lock);
	initialise();
	pthread_mutex_unlock(&lock);
	phase = facts.code ? FH_FAILED : FH_RUNNING;
}

int fh_phase(fh_facts *f) {
	int p = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	if (p != FH_STARTING)
		*f = facts;
	return p;
}

void fh_crowded(int yes) { fh_is_crowded = yes; }

void fh_finish(void) {
	if (fh_is_passive) {
		fh_is_passive = 0;
		phase = FH_FINISHED;
	}
	__atomic_store_n(&finish, 1, __ATOMIC_RELEASE);
}

void fh_attend(fh_job *job) {
	job->next = jobs;
	jobs = job;
}

void fh_forget(fh_job *job) {
	for (fh_job **at = &jobs; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			return;
		}
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
