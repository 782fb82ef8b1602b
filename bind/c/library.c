// What all calls have in common: handles, the last error, forks, calls of the program.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"
#include "calls.h"

// ---- The last error ----

enum { MESSAGE_BYTES = 2048 };

// The message is not thread-local itself. Go has its thread-local word at a fixed place, and so all
// of the library's are; of such places a library that is loaded late, as by Python, gets few.
__thread char *fh_message;
static pthread_key_t messages; // has them freed

static void forget(void *text) {
	fh_message = NULL;
	free(text);
}

__attribute__((constructor)) static void keep_messages(void) {
	pthread_key_create(&messages, forget);
}

int fh_note(int code, const char *text, size_t length) {
	static char none[] = "farhash: an error, and no memory for its message";
	if (!fh_message || fh_message == none) {
		char *room = malloc(MESSAGE_BYTES);
		fh_message = room ? room : none;
		if (!room)
			return code;
		pthread_setspecific(messages, room);
	}
	if (length >= MESSAGE_BYTES)
		length = MESSAGE_BYTES - 1;
	memcpy(fh_message, text, length);
	fh_message[length] = 0;
	return code;
}

int farhash_refuse(int code, const char *text) { return fh_note(code, text, strlen(text)); }

const char *farhash_last_error(void) { return fh_message ? fh_message : ""; }

static const char *const names[] = {"FARHASH_OK", "FARHASH_ERROR", "FARHASH_ERROR_ARGUMENT",
	"FARHASH_ERROR_CLOSED", "FARHASH_ERROR_FULL", "FARHASH_ERROR_MEMORY", "FARHASH_ERROR_FILE",
	"FARHASH_ERROR_FORMAT", "FARHASH_ERROR_RANK", "FARHASH_ERROR_TIMEOUT",
	"FARHASH_ERROR_UNSUPPORTED", "FARHASH_ERROR_FORKED", "FARHASH_ERROR_INTERNAL"};

const char *farhash_error_name(int code) {
	if (code > 0 || code <= -(int)(sizeof names / sizeof *names))
		return "";
	return names[-code];
}

const char *farhash_version(void) { return FARHASH_VERSION; }

// ---- Forks ----

// The child of a fork has the caller's thread and no other: Go cannot run in it. It closes the
// descriptors of locks, which would keep its parent a member of tables for as long as it runs.
static int forked;
static struct {
	pthread_mutex_t lock;
	int *fds, n, room;
} locks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fh_locks(int fd, int open) {
	pthread_mutex_lock(&locks.lock);
	if (open && locks.n == locks.room) {
		int *fds = realloc(locks.fds, (2 * locks.n + 8) * sizeof *fds);
		locks.room = fds ? 2 * locks.n + 8 : locks.room;
		locks.fds = fds ? fds : locks.fds;
	}
	if (open && locks.n < locks.room)
		locks.fds[locks.n++] = fd;
	for (int i = 0; !open && i < locks.n; i++)
		if (locks.fds[i] == fd)
			locks.fds[i--] = locks.fds[--locks.n];
	pthread_mutex_unlock(&locks.lock);
}

static void before_fork(void) { pthread_mutex_lock(&locks.lock); }

static void in_parent(void) { pthread_mutex_unlock(&locks.lock); }

static void in_child(void) {
	forked = 1;
	while (locks.n > 0)
		close(locks.fds[--locks.n]);
	pthread_mutex_unlock(&locks.lock);
}

__attribute__((constructor)) static void watch_forks(void) {
	pthread_atfork(before_fork, in_parent, in_child);
}

int fh_alive(void) {
	if (!forked)
		return FARHASH_OK;
	return farhash_refuse(FARHASH_ERROR_FORKED, "farhash: this process is the child of a fork, and "
		"has none of the threads that farhash needs; call exec in it, or load the library (dlopen) "
		"only after the fork");
}

// ---- Handles ----

// Handles of closed tables are kept for a while, so that a call with one of them is an error.
enum { MAX_RETIRED = 1024 };
static struct {
	pthread_mutex_t lock;
	fh_handle *first, *last;
	int n;
} retired = {.lock = PTHREAD_MUTEX_INITIALIZER};

fh_handle *fh_new(uint32_t kind, uint64_t number) {
	fh_handle *h = aligned_alloc(_Alignof(fh_handle), sizeof *h);
	if (!h)
		return NULL;
	*h = (fh_handle){.kind = kind, .number = number};
	return h;
}

// A call counts itself before it looks whether the handle is closed, and fh_retire closes it before
// it looks at the counters: so one of the two sees the other.
fh_handle *fh_begin_call(fh_handle *h, uint32_t kind) {
	if (forked || !h || h->kind != kind)
		return NULL;
	__atomic_fetch_add(&fh_mine(h)->calls, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&h->closed, __ATOMIC_SEQ_CST))
		return h;
	fh_end_call(&h);
	return NULL;
}

void fh_end_call(fh_handle **h) {
	if (*h)
		__atomic_fetch_sub(&fh_mine(*h)->calls, 1, __ATOMIC_RELEASE);
}

static pthread_key_t callers; // the innermost fh_caller of each thread

__attribute__((constructor)) static void keep_callers(void) {
	pthread_key_create(&callers, NULL);
}

void fh_push_caller(fh_caller *caller) {
	caller->outer = pthread_getspecific(callers);
	pthread_setspecific(callers, caller);
}

void fh_pop_caller(fh_caller *caller) { pthread_setspecific(callers, caller->outer); }

int fh_begin_close(fh_handle *h, uint32_t kind, fh_handle **job) {
	if (forked || !h || h->kind != kind)
		return fh_refuse_handle(h, kind);
	for (const fh_caller *c = pthread_getspecific(callers); c; c = c->outer)
		if (c->handle == h || c->handle->job == h)
			return farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash: a function that a call has called "
				"cannot close the table or job of that call; close it when the call has ended");
	if (job && h->job && !(*job = fh_begin_call(h->job, FH_JOB)))
		return fh_refuse_handle(h, kind);
	int32_t open = 0;
	if (!__atomic_compare_exchange_n(&h->closed, &open, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return fh_refuse_handle(h, kind);
	return FARHASH_OK;
}

void fh_retire(fh_handle *h) {
	fh_handle *oldest = NULL;
	__atomic_store_n(&h->closed, 1, __ATOMIC_SEQ_CST);
	for (int i = 0, us = 10; i < FH_STRIPES;) {
		if (!__atomic_load_n(&h->tallies[i].calls, __ATOMIC_SEQ_CST)) {
			i++;
			continue;
		}
		usleep(us);
		us = us < 1000 ? 2 * us : us;
	}
	h->shape.ranks = 0;
	pthread_mutex_lock(&retired.lock);
	if (retired.last)
		retired.last->next = h;
	else
		retired.first = h;
	retired.last = h;
	if (++retired.n > MAX_RETIRED) {
		oldest = retired.first;
		retired.first = oldest->next;
		retired.n--;
	}
	pthread_mutex_unlock(&retired.lock);
	free(oldest);
}

int fh_refuse_handle(const fh_handle *h, uint32_t kind) {
	if (fh_alive() != FARHASH_OK)
		return FARHASH_ERROR_FORKED;
	if (!h)
		return farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash: the handle is NULL; did farhash_..._new "
			"or farhash_join... succeed?");
	if (h->kind != kind)
		return farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash: the handle is none of this kind");
	return farhash_refuse(FARHASH_ERROR_CLOSED, "farhash: it has been closed, or its job has");
}

int fh_refuse_null(void) {
	return farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash: an argument is NULL that must not be");
}

int fh_refuse_size(void) {
	return farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash: a batch of so many is longer than memory");
}

// ---- Calls of the program ----

int fh_call_rank(void *function, fh_handle *job, void *argument) {
	return ((int (*)(farhash_job *, void *))function)((farhash_job *)job, argument);
}

int fh_call_update(void *function, void *value, int found, void *argument) {
	return ((int (*)(void *, int, void *))function)(value, found, argument);
}

int fh_call_pair(void *function, void *key, size_t key_size, void *value, size_t value_size,
	void *argument) {
	return ((int (*)(const void *, size_t, const void *, size_t, void *))function)(key, key_size,
		value, value_size, argument);
}

int fh_call_next(void *function, fh_record *record, void *argument) {
	return ((int (*)(const void **, const void **, size_t *, void *))function)(&record->key,
		&record->value, &record->value_size, argument);
}

void fh_call_found(void *function, size_t i, void *value, size_t value_size, void *argument) {
	((void (*)(size_t, const void *, size_t, void *))function)(i, value, value_size, argument);
}

void fh_call_plain(void *function, void *argument) { ((void (*)(void *))function)(argument); }
