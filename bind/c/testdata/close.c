// Closes beside calls of other threads, of tables and of their job. Usage: close

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "try.h"

static farhash_job *job;
static farhash_cache *cache;
static farhash_map *map;
static farhash_index *index_;

static atomic_int closed, answered;
static int closes_job;

// call makes one that nothing but the state of the handle decides.
static int call(void) {
	uint64_t n;
	return closes_job ? farhash_job_size(job) < 0 ? FARHASH_ERROR_CLOSED : 0 :
		farhash_cache_len(cache, &n) | farhash_map_len(map, &n) | farhash_index_len(index_, &n);
}

static void *closer(void *close_it) {
	OK(((int (*)(void))close_it)());
	closed = 1;
	return NULL;
}

static int close_job(void) { return farhash_job_close(job); }
static int close_cache(void) { return farhash_cache_close(cache); }
static int close_map(void) { return farhash_map_close(map); }
static int close_index(void) { return farhash_index_close(index_); }

static int (*closing)(void); // what the other thread calls, during a call of this thread
static pthread_t thread;

// inside is what functions do that a call calls. They cannot close what the call works on. Another
// thread can: that waits for the call, and has further ones refused.
static void inside(void) {
	if (answered)
		return;
	FAILS(FARHASH_ERROR_ARGUMENT, "when the call has ended", closing());
	FAILS(FARHASH_ERROR_ARGUMENT, "when the call has ended", close_job());
	OK(call());
	CLAIM(pthread_create(&thread, NULL, closer, closing) == 0);
	while (call() >= 0)
		usleep(100);
	usleep(50000); // in which one that did not wait would have ended
	CLAIM(!closed);
	answered = 1;
}

static int change(void *value, int found, void *argument) {
	(void)found, (void)argument;
	memset(value, 1, 8);
	inside();
	return 1;
}

static int pair(const void *key, size_t key_size, const void *value, size_t value_size,
	void *argument) {
	(void)key, (void)key_size, (void)value, (void)value_size, (void)argument;
	inside();
	return 0;
}

static void found(size_t i, const void *value, size_t value_size, void *argument) {
	(void)i, (void)value, (void)value_size, (void)argument;
	inside();
}

static int next(const void **key, const void **value, size_t *value_size, void *argument) {
	(void)key, (void)value, (void)value_size, (void)argument;
	inside();
	return 0;
}

static void open_all(void) {
	uint64_t key = 7, value = 8;
	OK(farhash_join(NULL, &job));
	OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = 8, .value_size = 8,
		.buckets = 64}, &cache));
	OK(farhash_map_new(job, &(farhash_map_config){.slots = 64, .bytes = 1 << 14, .max_key = 8,
		.max_value = 8}, &map));
	OK(farhash_index_build_batch(job, &(farhash_index_config){.key_size = 8, .value_size = 8}, &key,
		&value, NULL, 1, &index_));
	IS(FARHASH_NEW, farhash_cache_put(cache, &key, &value));
	OK(farhash_map_put(map, &key, 8, &value, 8, NULL));
}

// beside has another thread close during each call that calls functions.
static void beside(int (*close_it)(void), int which) {
	uint64_t key = 7;
	farhash_index *other;
	closing = close_it, closes_job = close_it == close_job;
	closed = answered = 0;
	open_all();
	switch (which) {
	case 0:
		IS(FARHASH_UPDATED, farhash_cache_update(cache, &key, change, NULL));
		break;
	case 1:
		OK(farhash_cache_range(cache, 0, pair, NULL));
		break;
	case 2:
		OK(farhash_map_range(map, pair, NULL));
		break;
	case 3:
		OK(farhash_index_lookup(index_, &key, 1, found, NULL));
		break;
	default:
		OK(farhash_index_build(job, &(farhash_index_config){.key_size = 8}, next, NULL, &other));
	}
	CLAIM(answered && pthread_join(thread, NULL) == 0 && closed);
	if (!closes_job)
		OK(farhash_job_close(job));
	CLAIM(call() == FARHASH_ERROR_CLOSED);
}

static atomic_int busy;

// user calls until it is refused.
static void *user(void *unused) {
	uint64_t key = 7, value;
	int code = 0;
	busy++;
	while (code >= 0) {
		code = farhash_cache_get(cache, &key, &value) | farhash_cache_put(cache, &key, &key);
		if (code >= 0)
			code = farhash_map_put(map, &key, 8, &key, 8, NULL);
		if (code >= 0)
			code = farhash_index_get(index_, &key, &value, NULL);
	}
	IS(FARHASH_ERROR_CLOSED, code);
	return unused;
}

static atomic_int succeeded;

static void *any_closer(void *unused) {
	int (*all[])(void) = {close_cache, close_map, close_index, close_job};
	for (int i = 0; i < 4; i++) {
		int code = all[i]();
		CLAIM(code == FARHASH_OK || code == FARHASH_ERROR_CLOSED);
		succeeded += code == FARHASH_OK && all[i] == close_job;
	}
	return unused;
}

// many has threads call and close all at once: one of them closes the job.
static void many(void) {
	enum { USERS = 3, CLOSERS = 3 };
	pthread_t threads[USERS + CLOSERS];
	open_all();
	busy = succeeded = 0;
	for (int i = 0; i < USERS; i++)
		CLAIM(pthread_create(&threads[i], NULL, user, NULL) == 0);
	while (busy < USERS)
		usleep(10);
	for (int i = USERS; i < USERS + CLOSERS; i++)
		CLAIM(pthread_create(&threads[i], NULL, any_closer, NULL) == 0);
	for (int i = 0; i < USERS + CLOSERS; i++)
		CLAIM(pthread_join(threads[i], NULL) == 0);
	IS(1, succeeded);
}


int main(void) {
	int (*closes[])(void) = {close_cache, close_cache, close_map, close_index, close_job};
	for (int which = 0; which < 5; which++) {
		beside(closes[which], which);
		beside(close_job, which);
	}
	for (int round = 0; round < 100; round++)
		many();
	puts("all is well");
	return 0;
}
