// What the C and the Go half of the library share.

#ifndef FARHASH_LIBRARY_H
#define FARHASH_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "farhash.h"

enum { FH_JOB = 0x66686a31, FH_SET, FH_BYTES, FH_CACHE, FH_MAP, FH_INDEX };

// FH_FAST_WORDS is the longest key and the longest value of a cache that C accesses by itself.
enum { FH_FAST_WORDS = 64 };

// fh_move gets or puts words of a rank at an offset. It returns when that has ended, 0 if it is done.
typedef int fh_move(void *window, int rank, int64_t offset, uint64_t *words, int64_t n);

// A cache as C sees it.
typedef struct {
	uint64_t *flat;  // all segments; NULL: each by itself
	uint64_t **near; // by rank: a segment, or NULL for those that get and put are for
	void *window;
	fh_move *get, *put;
	uint64_t ranks; // 0: there is no fast path
	uint64_t segment, groups, group_words, bucket_words, group_buckets;
	uint64_t key_words, value_words;
	uint64_t key_at; // words before the key: the checksum, and where it is 2 the expiry
	uint64_t ttl_ns; // 0: pairs that C puts do not expire
} fh_shape;

enum { FH_STRIPES = 16 };

// What C counts. A handle has FH_STRIPES of them, so that threads rarely meet in a counter.
typedef struct {
	uint64_t calls;                           // that are in flight
	uint64_t hits, misses, inserted, updated; // by the fast path
	uint64_t rest[3];
} __attribute__((aligned(64))) fh_tally;

// fh_handle is what the pointers of farhash.h point to.
typedef struct fh_handle {
	uint32_t kind;
	int32_t closed;
	uint64_t number;       // of the value in Go
	uint64_t bytes, more;  // of a key or element, 1 if these have any length; of a value
	struct fh_handle *job; // that a table is of; NULL: of none
	fh_shape shape;
	struct fh_handle *next;
	fh_tally tallies[FH_STRIPES];
} fh_handle;

// fh_new is NULL if there is no memory.
fh_handle *fh_new(uint32_t kind, uint64_t number);

// fh_begin_close lets one caller close a handle, and has further calls refused. That caller retires
// the handle, which waits for the calls of other threads that are in flight. job, if it is not
// NULL, gets the job of a table, in which the close is then a call in flight.
int fh_begin_close(fh_handle *handle, uint32_t kind, fh_handle **job);
void fh_retire(fh_handle *handle);

// fh_message is the last error of a thread. Its address tells threads apart.
extern __thread char *fh_message __attribute__((tls_model("initial-exec")));

// fh_mine is where this thread counts.
static inline fh_tally *fh_mine(fh_handle *handle) {
	return &handle->tallies[(uint64_t)(uintptr_t)&fh_message * 0x9E3779B97F4A7C15 >> 60];
}

// fh_locks is told which descriptors have locks that a fork must not keep.
void fh_locks(int fd, int open);

// fh_note keeps a message for farhash_last_error and returns the code.
int fh_note(int code, const char *text, size_t length);

// farhash_refuse does so for other interfaces that are built on this library. It is not for
// programs.
int farhash_refuse(int code, const char *text);

// fh_record is what the program gives for an index.
typedef struct {
	const void *key, *value;
	size_t value_size;
} fh_record;

// fh_call_* call a function of the program.
int fh_call_rank(void *function, fh_handle *job, void *argument);
int fh_call_update(void *function, void *value, int found, void *argument);
int fh_call_pair(void *function, void *key, size_t key_size, void *value, size_t value_size,
	void *argument);
int fh_call_next(void *function, fh_record *record, void *argument);
void fh_call_found(void *function, size_t i, void *value, size_t value_size, void *argument);
void fh_call_plain(void *function, void *argument);

// fh_keep_stacks adjusts signal handlers that were installed without the library's sigaction.
void fh_keep_stacks(void);

// The fast path, of a cache whose shape is known. FH_UNKNOWN: nothing has been done.
enum { FH_UNKNOWN = -1 };
int fh_fast_get(fh_handle *cache, const void *key, void *value);
int fh_fast_put(fh_handle *cache, const void *key, const void *value);

#endif
