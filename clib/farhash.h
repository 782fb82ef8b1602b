/* Hash tables that live in the memory of many processes, for C and C++.
 *
 * A job is a number of ranks: processes of an MPI program, processes that some launcher has
 * started, or threads. Each gives memory to tables, and any rank reaches all of it.
 *
 *   farhash_set       words of 63 bits, each once: was this seen before, by anybody?
 *   farhash_elements  the same for byte strings of one length
 *   farhash_cache     keys and values of fixed sizes; forgets when it is full
 *
 * Functions that say "collective" are called by all ranks of the job, in the same order, with
 * the same arguments. The others are safe to call from any thread at any time, save that
 * nothing may run beside the close of its table. Functions that return int return 0 or an
 * answer, which is positive, or an error, which is negative; farhash_last_error then tells in
 * words what failed and what to do about it. Nothing is printed, nothing aborts.
 *
 * farhash(3) is the manual. Programs link with -lfarhash, see also farhash_mpi.h.
 */
#ifndef FARHASH_H
#define FARHASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FARHASH_VERSION "0.1.0"

/* Errors. */
enum {
	FARHASH_OK = 0,
	FARHASH_ERROR = -1,             /* see farhash_last_error */
	FARHASH_ERROR_ARGUMENT = -2,    /* a NULL, a size or a number that makes no sense */
	FARHASH_ERROR_CLOSED = -3,      /* the table or the job has been closed */
	FARHASH_ERROR_FULL = -4,        /* a set had no place for something; what it holds stays */
	FARHASH_ERROR_MEMORY = -5,      /* the machine or /dev/shm has not enough */
	FARHASH_ERROR_FILE = -6,        /* a file cannot be opened, read or written */
	FARHASH_ERROR_FORMAT = -7,      /* a file is foreign, truncated or corrupt */
	FARHASH_ERROR_RANK = -8,        /* another rank has failed, died or left */
	FARHASH_ERROR_TIMEOUT = -9,     /* other ranks did not come in time */
	FARHASH_ERROR_UNSUPPORTED = -10, /* not with this library, MPI or launcher */
	FARHASH_ERROR_FORKED = -11,     /* this process is a fork(2) of the one that had the table */
	FARHASH_ERROR_INTERNAL = -12    /* a bug of farhash */
};

/* Answers. Where many are given at once, each is a byte of an array. */
enum {
	FARHASH_NOT_FOUND = 0, /* set: it is not there */
	FARHASH_FOUND = 1,     /* set: it was there before the call */
	FARHASH_INSERTED = 2,  /* set: it was not, and now it is */
	FARHASH_FULL = 3       /* set, in arrays only: it is not there, and no place is free */
};
enum {
	FARHASH_MISS = 0,     /* cache: the key is not there */
	FARHASH_HIT = 1,      /* cache: it is, and the value has been copied */
	FARHASH_NEW = 1,      /* cache: stored in a bucket that was free */
	FARHASH_UPDATED = 2,  /* cache: the key was there, and now has this value */
	FARHASH_EVICTED = 3   /* cache: stored in place of another key */
};

/* farhash_last_error is the message of the last call of this thread that has failed, "" if none
 * has. It stays until another one fails in this thread. */
const char *farhash_last_error(void);

/* farhash_error_name is the name of a code: "FARHASH_ERROR_FULL". */
const char *farhash_error_name(int code);

/* farhash_version is the version of the library; FARHASH_VERSION is that of this header. */
const char *farhash_version(void);

/* farhash_mpi_library is the MPI that the library is linked with, as it calls itself, "" if none. */
const char *farhash_mpi_library(void);

/* ---- Jobs ---- */

typedef struct farhash_job farhash_job;

/* How a job is joined. All zero is ready. */
typedef struct farhash_options {
	double timeout_seconds; /* for the other ranks to come; 0 is a minute */
	int32_t one_sided;      /* not 0: no memory is used directly; for tests and measurements */
	int32_t reserved[7];    /* 0 */
} farhash_options;

/* farhash_join makes this process a rank of the job that its launcher has started: mpirun,
 * srun, torchrun or farhash run. Without a launcher it is the only rank of a job. For
 * programs that call MPI themselves farhash_join_comm of farhash_mpi.h is surer. Collective.
 * options may be NULL. */
int farhash_join(const farhash_options *options, farhash_job **job);

/* farhash_join_fortran_comm makes the processes of an MPI communicator, given by its Fortran
 * handle, the ranks of a job; their order is the same. MPI has been initialised. On one host
 * any thread level will do, MPI is used in this call only, and MPI_Finalize may come before
 * or after farhash_job_close. On several hosts the communicator has all processes of
 * MPI_COMM_WORLD in their order, the thread level is MPI_THREAD_MULTIPLE, or
 * MPI_THREAD_SERIALIZED with farhash_exclusive, and MPI_Finalize closes the job. Collective. */
int farhash_join_fortran_comm(int32_t comm, const farhash_options *options, farhash_job **job);

/* farhash_run has function called by the given number of ranks, a thread each. Under a launcher
 * it is called once, for the rank that this process is. A result other than 0 says that the
 * rank has failed: the others' collective calls then fail too, and farhash_run returns that of
 * the lowest such rank. Jobs are closed when function returns. */
int farhash_run(int32_t ranks, const farhash_options *options,
	int (*function)(farhash_job *job, void *argument), void *argument);

/* Rank of this process, 0 to size-1, and how many there are. */
int farhash_job_rank(farhash_job *job);
int farhash_job_size(farhash_job *job);

/* farhash_job_barrier returns when every rank has called it. Collective. */
int farhash_job_barrier(farhash_job *job);

/* farhash_job_close leaves the job and closes its tables. On one host it waits for nobody. */
int farhash_job_close(farhash_job *job);

/* farhash_exclusive calls function while the library does not call MPI: the way to one's own
 * calls of MPI with MPI_THREAD_SERIALIZED on several hosts. function must not call farhash. */
int farhash_exclusive(void (*function)(void *argument), void *argument);

/* ---- Sets of words ---- */

typedef struct farhash_set farhash_set;

#define FARHASH_MAX_WORD INT64_C(0x7fffffffffffffff)

/* Every rank gives the same. 0 is the default of everything but buckets. */
typedef struct farhash_set_config {
	uint64_t buckets;     /* of all ranks together, 8 bytes each; rounded up to 8 per rank */
	uint32_t chunk;       /* buckets that one remote get brings, a multiple of 8 */
	uint32_t chunks;      /* chunk * chunks buckets are examined, then the answer is full */
	uint32_t home_word;   /* not 0: searches begin at any bucket, not at cache lines */
	uint32_t depth;       /* operations of a batch in flight, where memory is not direct */
	uint64_t reserved[4]; /* 0 */
} farhash_set_config;

typedef struct farhash_set_stats {
	uint64_t inserted, found, not_found, full;
	uint64_t lost_swaps;    /* insertions that another one was faster than */
	uint64_t extra_chunks;  /* examined beyond the first of each operation */
	uint64_t longest_probe; /* buckets examined by the longest search */
} farhash_set_stats;

int farhash_set_new(farhash_job *job, const farhash_set_config *config, farhash_set **set);

/* FARHASH_FOUND or FARHASH_INSERTED. A word is at most FARHASH_MAX_WORD. */
int farhash_set_find_or_put(farhash_set *set, uint64_t word);

/* Many at once, many times faster: results[i] answers words[i]. FARHASH_ERROR_FULL if any result
 * is FARHASH_FULL; the other results hold. */
int farhash_set_find_or_put_batch(farhash_set *set, const uint64_t *words, size_t n,
	uint8_t *results);

/* FARHASH_FOUND or FARHASH_NOT_FOUND. */
int farhash_set_contains(farhash_set *set, uint64_t word);
int farhash_set_contains_batch(farhash_set *set, const uint64_t *words, size_t n,
	uint8_t *results);

/* How many words there are: exact when nobody inserts. */
int farhash_set_len(farhash_set *set, uint64_t *words);
int farhash_set_buckets(farhash_set *set, uint64_t *buckets);

/* What this rank has done. Single operations that change nothing are not counted. */
int farhash_set_stats_get(farhash_set *set, farhash_set_stats *stats);

/* farhash_set_grow moves the set into a table of so many buckets. Collective, and nothing else
 * may run on the set meanwhile; so are the following. */
int farhash_set_grow(farhash_set *set, uint64_t buckets);

/* Save writes a file that is loaded with any number of ranks and buckets; path is the same
 * file on every rank. Load inserts what such a file holds, and grows the set if it must. */
int farhash_set_save(farhash_set *set, const char *path);
int farhash_set_load(farhash_set *set, const char *path);

/* farhash_set_check verifies the whole table, and tells every rank whether it is in order. */
int farhash_set_check(farhash_set *set);

/* Close gives this rank's memory back. Not collective. */
int farhash_set_close(farhash_set *set);

/* ---- Sets of byte strings ---- */

typedef struct farhash_elements farhash_elements;

typedef struct farhash_elements_config {
	farhash_set_config set;
	uint64_t element_bytes; /* 1 to 4096: of every element */
	uint64_t capacity;      /* elements that there is memory for; 0 is 15/16 of buckets */
	uint64_t reserved[4];   /* 0 */
} farhash_elements_config;

int farhash_elements_new(farhash_job *job, const farhash_elements_config *config,
	farhash_elements **elements);

/* As for words. Elements of a batch lie one after the other, n times element_bytes. refs is NULL
 * or gets the name of each element: a number that means the same on every rank, also when
 * the set has grown. */
int farhash_elements_find_or_put(farhash_elements *elements, const void *element);
int farhash_elements_find_or_put_batch(farhash_elements *elements, const void *batch, size_t n,
	uint8_t *results, uint64_t *refs);
int farhash_elements_contains(farhash_elements *elements, const void *element);
int farhash_elements_contains_batch(farhash_elements *elements, const void *batch, size_t n,
	uint8_t *results);

/* farhash_elements_get copies the element of that name. */
int farhash_elements_get(farhash_elements *elements, uint64_t ref, void *element);

int farhash_elements_len(farhash_elements *elements, uint64_t *n);
int farhash_elements_buckets(farhash_elements *elements, uint64_t *buckets);
int farhash_elements_stats_get(farhash_elements *elements, farhash_set_stats *stats);
int farhash_elements_grow(farhash_elements *elements, uint64_t buckets, uint64_t capacity);
int farhash_elements_save(farhash_elements *elements, const char *path);
int farhash_elements_load(farhash_elements *elements, const char *path);
int farhash_elements_check(farhash_elements *elements);
int farhash_elements_close(farhash_elements *elements);

/* ---- Caches ---- */

typedef struct farhash_cache farhash_cache;

/* How readers and writers of a bucket keep out of each other's way. */
enum { FARHASH_LOCK_FREE = 0, FARHASH_FINE = 1, FARHASH_COARSE = 2 };

/* Every rank gives the same. 0 is the default of everything but sizes and buckets. */
typedef struct farhash_cache_config {
	uint64_t key_size, value_size; /* bytes of every key and value, at least 1 */
	uint64_t buckets_per_rank;
	int32_t mode;
	int32_t retries;        /* of a bucket that fails its checksum; below 0 none */
	uint32_t group_buckets; /* that lie together, 1 to 8 */
	uint32_t choices;       /* groups that a key may lie in, 1 to 8 */
	uint32_t depth;         /* operations of a batch in flight, where memory is not direct */
	uint32_t reserved[7];   /* 0 */
} farhash_cache_config;

typedef struct farhash_cache_stats {
	uint64_t hits, misses;
	uint64_t inserted, updated, evicted;
	uint64_t deletes, deleted;
	uint64_t mismatches; /* buckets read that failed their checksum */
	uint64_t retries;    /* buckets read again for it */
	uint64_t invalid;    /* buckets marked invalid, after mismatches and by deletion */
	uint64_t lock_waits, locks_broken;
	uint64_t occupied;   /* buckets in use in the memory of the rank; of all_stats only */
} farhash_cache_stats;

int farhash_cache_new(farhash_job *job, const farhash_cache_config *config,
	farhash_cache **cache);

/* FARHASH_HIT or FARHASH_MISS. After a miss value holds nothing of use. */
int farhash_cache_get(farhash_cache *cache, const void *key, void *value);

/* FARHASH_NEW, FARHASH_UPDATED or FARHASH_EVICTED. */
int farhash_cache_put(farhash_cache *cache, const void *key, const void *value);

/* FARHASH_HIT if the key was there. */
int farhash_cache_delete(farhash_cache *cache, const void *key);

/* Many at once. Keys lie one after the other, and so do values. */
int farhash_cache_get_batch(farhash_cache *cache, const void *keys, size_t n, void *values,
	uint8_t *hits);
int farhash_cache_put_batch(farhash_cache *cache, const void *keys, size_t n,
	const void *values, uint8_t *results);

/* farhash_cache_update reads the value of key, has function change it in place and stores it.
 * found is 0 where the key was not there; value is then all zeros. If function returns 0 the
 * cache stays as it is, and so does the result: 0. Else as put. No lock is held meanwhile:
 * what others put in between is lost. */
int farhash_cache_update(farhash_cache *cache, const void *key,
	int (*function)(void *value, int found, void *argument), void *argument);

/* What this rank has done since the cache was made or reset. */
int farhash_cache_stats_get(farhash_cache *cache, farhash_cache_stats *stats);
int farhash_cache_stats_reset(farhash_cache *cache);

/* The same of all ranks and their sum; ranks is NULL or has room for one each. Collective. */
int farhash_cache_all_stats(farhash_cache *cache, farhash_cache_stats *ranks,
	farhash_cache_stats *total);

/* farhash_cache_locate tells which rank has a key in its memory, and in which bucket of that rank
 * it is; -1 and UINT64_MAX if it is nowhere. FARHASH_HIT or FARHASH_MISS. */
int farhash_cache_locate(farhash_cache *cache, const void *key, int32_t *rank, uint64_t *bucket);

/* How many buckets there are, in all ranks, which may be more than was asked for. */
int farhash_cache_buckets(farhash_cache *cache, uint64_t *buckets);

/* As for sets. Load puts what is in the file, and may evict. Collective. */
int farhash_cache_save(farhash_cache *cache, const char *path);
int farhash_cache_load(farhash_cache *cache, const char *path);
int farhash_cache_check(farhash_cache *cache);
int farhash_cache_close(farhash_cache *cache);

/* farhash_round rounds values to significant decimal digits in place, so that inputs which are
 * nearly equal become one key: digits[i] for values[i], or digits[0] for all if n_digits is 1.
 * 0, or more than 16, digits leave a value as it is. A magnitude below floors[i] (floors[0] if
 * n_floors is 1; no floor if n_floors is 0) becomes 0. -0 becomes 0, and every NaN the same. */
int farhash_round(double *values, size_t n, const int32_t *digits, size_t n_digits,
	const double *floors, size_t n_floors);

#ifdef __cplusplus
}
#endif

#endif
