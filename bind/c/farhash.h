/* Hash tables that live in the memory of many processes, for C and C++.
 *
 * A job is a number of ranks: processes of an MPI program, processes that some launcher has
 * started, or threads. Each gives memory to tables, and any rank reaches all of it.
 *
 *   farhash_set    words of 63 bits, each once: was this seen before, by anybody?
 *   farhash_bytes  the same for byte strings, of one length or of any
 *   farhash_cache  keys and values of fixed sizes; forgets when it is full
 *   farhash_map    keys and values of any length, changed and deleted; loses nothing
 *   farhash_index  records that are given once; then read-only
 *
 * Processes of one host may also share a table by its name, without a job: "Tables by name" below.
 *
 * Functions that say "collective" are called by all ranks of the job, in the same order, with
 * the same arguments. Arguments that make no sense on one rank fail on all; a rank whose handle is
 * NULL or closed has not called, and the others wait. The other functions are safe to call from
 * any thread at any time. A close has further calls refused, and waits until those of other threads
 * have ended; a function that a call has called cannot close the table or the job of that call. No
 * function may be called by a signal handler: it could end the process or wait for ever. Functions
 * that return int return 0 or an answer, which is positive, or an error, which is negative;
 * farhash_last_error then has in words what failed and what to do about it. Nothing is printed,
 * nothing aborts.
 *
 * In a declaration [] marks an array, and a comment what may be NULL and what the call both reads
 * and writes. The bindings for other languages are generated from these (clib/internal/bindgen).
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
	FARHASH_ERROR_FULL = -4,        /* a set or map had no free place; its content stays */
	FARHASH_ERROR_MEMORY = -5,      /* the machine or /dev/shm has not enough */
	FARHASH_ERROR_FILE = -6,        /* a file cannot be opened, read or written */
	FARHASH_ERROR_FORMAT = -7,      /* a file is of another program, truncated or corrupt */
	FARHASH_ERROR_RANK = -8,        /* another rank has failed, died or left */
	FARHASH_ERROR_TIMEOUT = -9,     /* other ranks did not arrive in time */
	FARHASH_ERROR_UNSUPPORTED = -10, /* not with this library, MPI or launcher */
	FARHASH_ERROR_FORKED = -11,     /* this process is a fork(2) of the one that had the table */
	FARHASH_ERROR_INTERNAL = -12    /* a bug of farhash */
};

/* Answers. Where many are given at once, each is a byte of an array. If that call fails, other than
 * by FARHASH_ERROR_FULL, the array is undefined. */
enum {
	FARHASH_NOT_FOUND = 0, /* set: it is not there */
	FARHASH_FOUND = 1,     /* set: it was there before the call */
	FARHASH_INSERTED = 2,  /* set: it was not, and now it is */
	FARHASH_FULL = 3       /* set, in arrays only: it is not there, and no place is free */
};
enum {
	FARHASH_MISS = 0,     /* cache, map: the key is not there */
	FARHASH_HIT = 1,      /* cache, map: it is, and the value has been copied */
	FARHASH_NEW = 1,      /* cache: stored in a bucket that was free */
	FARHASH_UPDATED = 2,  /* cache: the key was there, and now has this value */
	FARHASH_EVICTED = 3   /* cache: stored in place of another key */
};

/* farhash_last_error is the message of the last call of this thread that has failed, "" if none
 * has. It stays until another one fails in this thread. */
const char *farhash_last_error(void);

/* farhash_error_name is the name of a code: "FARHASH_ERROR_FULL". */
const char *farhash_error_name(int code);

/* farhash_version is the version of the library; FARHASH_VERSION is the version of this header. */
const char *farhash_version(void);

/* farhash_mpi_library is the MPI that the library is linked with, as it calls itself, "" if none. */
const char *farhash_mpi_library(void);

/* ---- Jobs ---- */

typedef struct farhash_job farhash_job;

/* How a job is joined. All zero is ready. */
typedef struct farhash_options {
	double timeout_seconds; /* for the other ranks to come; 0 is a minute; see join_comm */
	int32_t one_sided;      /* not 0: no memory is used directly; for tests and measurements */
	int32_t passive;        /* not 0: MPI is called within calls of farhash only; see below */
	int32_t reserved[6];    /* 0 */
} farhash_options;

/* farhash_join makes this process a rank of the job that its launcher has started: mpirun,
 * srun, torchrun or farhash run. Without a launcher it is the only rank of a job. For
 * programs that call MPI themselves farhash_join_comm of farhash_mpi.h is surer. Collective.
 * options may be NULL. */
int farhash_join(const farhash_options *options /* or NULL */, farhash_job **job);

/* farhash_join_fortran_comm makes the processes of an MPI intracommunicator, given by its Fortran
 * handle, the ranks of a job; their order is the same. MPI has been initialised. Any number of
 * jobs may be open, of communicators that have processes in common or not. On one host
 * any thread level will do, MPI is used in this call only, and MPI_Finalize may come before
 * or after farhash_job_close. On several hosts farhash_job_close is collective, and MPI_Finalize
 * closes the jobs that are still open. There a thread of the library
 * calls MPI, so that others reach the memory of a process that computes: the level is
 * MPI_THREAD_MULTIPLE, or MPI_THREAD_SERIALIZED with farhash_exclusive. With options.passive, and
 * at lower levels always, no thread does, and others wait until the process calls MPI or
 * farhash; then one thread of the program calls both. The call begins as any collective one of MPI
 * does: until every process of the communicator has called it, it waits, however long that takes;
 * timeout_seconds is for what follows. If a process gives options that make no sense, it
 * gets FARHASH_ERROR_ARGUMENT and the others FARHASH_ERROR_RANK, with its rank and the reason.
 * Collective. */
int farhash_join_fortran_comm(int32_t comm, const farhash_options *options /* or NULL */,
	farhash_job **job);

/* farhash_run has function called by the given number of ranks, a thread each. Under a launcher
 * it is called once, for the rank that this process is. A result other than 0 says that the
 * rank has failed: the others' collective calls then fail too, and farhash_run returns the error of
 * the lowest such rank. Jobs are closed when function returns. */
int farhash_run(int32_t ranks, const farhash_options *options /* or NULL */,
	int (*function)(farhash_job *job, void *argument), void *argument);

/* Rank of this process, 0 to size-1, and how many there are. */
int farhash_job_rank(farhash_job *job);
int farhash_job_size(farhash_job *job);

/* farhash_job_barrier returns when every rank has called it. Collective. */
int farhash_job_barrier(farhash_job *job);

/* farhash_job_close leaves the job and closes its tables. On one host it waits for nobody, on
 * several until all ranks of the job have called it or MPI_Finalize. */
int farhash_job_close(farhash_job *job);

/* farhash_exclusive calls function while the library does not call MPI: the way to one's own
 * calls of MPI with MPI_THREAD_SERIALIZED on several hosts. function must not call farhash. */
int farhash_exclusive(void (*function)(void *argument), void *argument);

/* ---- Access ---- */

/* How the batches of a table reach memory of ranks on other hosts, a field of each configuration.
 * It may differ between ranks. Memory of the same host is always used directly. */
enum {
	FARHASH_AUTO = 0,      /* whichever takes less time, as measured when the table is made */
	FARHASH_ONE_SIDED = 1, /* by gets, puts and swaps of this rank */
	FARHASH_SHIPPED = 2    /* the ranks that have the data carry them out; an error where the
	                        * engine cannot */
};

/* What became of it. */
typedef struct farhash_shipping {
	uint64_t min_batch; /* operations for one rank from which on they are shipped; UINT64_MAX:
	                     * none ever are, as between ranks of one host */
	uint64_t served;    /* operations that this rank has done for others */
	char reason[240];   /* a sentence */
} farhash_shipping;

typedef void farhash_table; /* a set of words or of byte strings, a cache, a map or an index */

int farhash_shipping_get(const farhash_table *table, farhash_shipping *shipping);

/* ---- Tables by name ---- */

/* Processes of a host share a table by its name, without a job or a launcher: farhash_set_open and
 * its like open it, or make it if there is none. The processes come and go, and may be killed. A
 * path without a slash is of a file in /dev/shm, which ends with the system; one on a disk stays.
 * What the configuration gives that is not 0 must be equal to what the table has; where config is
 * NULL all is as the table has it. Functions that say "collective" concern one process alone, and
 * others may change the table at the same time. The child of a fork cannot use the tables of its
 * parent: FARHASH_ERROR_FORKED. Other errors: FARHASH_ERROR_FORMAT for a file that is no such
 * table, FARHASH_ERROR_ARGUMENT for another configuration, FARHASH_ERROR_FILE for what the system
 * refuses. */

/* All zero is ready. */
typedef struct farhash_open_options {
	uint32_t mode;        /* permissions of a new file; 0 is 0600, only its user */
	int32_t any_owner;    /* not 0: the file may belong to another user, who is trusted */
	int32_t existing;     /* not 0: a table that is not there is not made: FARHASH_ERROR_FILE */
	uint32_t reserved[5]; /* 0 */
} farhash_open_options;

/* farhash_remove removes the table with a name. Processes that have it open keep it; the next one
 * that opens the name makes a new one. A file that is no table stays: FARHASH_ERROR_FORMAT. */
int farhash_remove(const char *path);

/* ---- Sets of words ---- */

typedef struct farhash_set farhash_set;

#define FARHASH_MAX_WORD INT64_C(0x7fffffffffffffff)

/* Every rank gives the same. 0 is the default of everything: the set then grows while it is used. */
typedef struct farhash_set_config {
	uint64_t buckets;     /* to begin with, of all ranks together, 8 bytes each; rounded up to 8
	                       * per rank; 0 is 2^16 */
	uint32_t chunk;       /* buckets that one remote get brings, a multiple of 8 */
	uint32_t chunks;      /* chunk * chunks buckets are examined, then the answer is full */
	uint32_t depth;       /* operations of a batch in flight, where memory is not direct */
	int64_t access;       /* FARHASH_AUTO, FARHASH_ONE_SIDED or FARHASH_SHIPPED */
	uint64_t max_bytes;   /* of all ranks together, that the set may take while it grows during
	                       * its use; 0: it keeps its buckets, or without buckets may take .8 of
	                       * the memory that the hosts have left (.05 over UCX and MPI) */
	uint64_t reserved[2]; /* 0 */
} farhash_set_config;

/* What this rank has done with a set. */
typedef struct farhash_set_stats {
	uint64_t inserted, found, not_found, full;
	uint64_t lost_swaps;    /* insertions that another one was faster than */
	uint64_t extra_chunks;  /* examined beyond the first of each operation */
	uint64_t longest_probe; /* buckets examined by the longest search */
} farhash_set_stats;

int farhash_set_new(farhash_job *job, const farhash_set_config *config, farhash_set **set);
int farhash_set_open(const char *path, const farhash_set_config *config /* or NULL */,
	const farhash_open_options *options /* or NULL */, farhash_set **set);

/* FARHASH_FOUND or FARHASH_INSERTED. A word is at most FARHASH_MAX_WORD. */
int farhash_set_find_or_put(farhash_set *set, uint64_t word);

/* Many at once, many times faster: results[i] answers words[i]. FARHASH_ERROR_FULL if any result
 * is FARHASH_FULL; the other results hold. FARHASH_ERROR_ARGUMENT if any word is more than
 * FARHASH_MAX_WORD, before anything is done. */
int farhash_set_find_or_put_batch(farhash_set *set, const uint64_t words[], size_t n,
	uint8_t results[]);

/* FARHASH_FOUND or FARHASH_NOT_FOUND. */
int farhash_set_contains(farhash_set *set, uint64_t word);
int farhash_set_contains_batch(farhash_set *set, const uint64_t words[], size_t n,
	uint8_t results[]);

/* How many words there are: exact when nobody inserts. */
int farhash_set_len(farhash_set *set, uint64_t *words);
int farhash_set_buckets(farhash_set *set, uint64_t *buckets);

/* What this rank has done. Single operations that change nothing are not counted. */
int farhash_set_stats_get(farhash_set *set, farhash_set_stats *stats);

/* Save writes a file that is loaded with any number of ranks and buckets; path is the same
 * file on every rank. Load inserts what such a file holds. Both are collective, and nothing else may
 * run on the set during the call; so is farhash_set_check. */
int farhash_set_save(farhash_set *set, const char *path);
int farhash_set_load(farhash_set *set, const char *path);

/* farhash_set_check verifies the whole table. Every rank gets the result. */
int farhash_set_check(farhash_set *set);

/* Close gives this rank's memory back. Not collective. */
int farhash_set_close(farhash_set *set);

/* ---- Sets of byte strings ---- */

/* Byte strings, each once: of one length, or of any length up to FARHASH_MAX_ELEMENT. */
typedef struct farhash_bytes farhash_bytes;

#define FARHASH_MAX_ELEMENT 65536 /* bytes of the longest element, in a set of any length */

/* Every rank gives the same. 0 is the default of everything: elements then have any length, and
 * the set grows while it is used. */
typedef struct farhash_bytes_config {
	farhash_set_config set;
	uint64_t element_bytes; /* of every element, 1 to 4096; 0: any length, which takes more memory
	                         * and time */
	uint64_t capacity;      /* elements that there is memory for, 32 bytes each if they have any
	                         * length; 0 is 15/16 of buckets */
	uint64_t reserved[4];   /* 0 */
} farhash_bytes_config;

int farhash_bytes_new(farhash_job *job, const farhash_bytes_config *config,
	farhash_bytes **bytes);
int farhash_bytes_open(const char *path, const farhash_bytes_config *config /* or NULL */,
	const farhash_open_options *options /* or NULL */, farhash_bytes **bytes);

/* As for words. In a set of one length size is element_bytes, else 0 to FARHASH_MAX_ELEMENT; any
 * other is FARHASH_ERROR_ARGUMENT. element may be NULL if size is 0. */
int farhash_bytes_find_or_put(farhash_bytes *bytes, const void *element /* or NULL */,
	size_t size);
int farhash_bytes_contains(farhash_bytes *bytes, const void *element /* or NULL */, size_t size);

/* An element of a batch. */
typedef struct farhash_element {
	const void *data;
	size_t size;
} farhash_element;

/* Many at once. refs is NULL or gets the name of each element: a number that means the same on
 * every rank, also when the set has grown. */
int farhash_bytes_find_or_put_batch(farhash_bytes *bytes, const farhash_element batch[],
	size_t n, uint8_t results[], uint64_t refs[] /* or NULL */);
int farhash_bytes_contains_batch(farhash_bytes *bytes, const farhash_element batch[], size_t n,
	uint8_t results[]);

/* The same for elements that lie one after the other, n times element_bytes, which is faster. In a
 * set of any length it is FARHASH_ERROR_ARGUMENT. */
int farhash_bytes_find_or_put_packed(farhash_bytes *bytes, const void *elements, size_t n,
	uint8_t results[], uint64_t refs[] /* or NULL */);
int farhash_bytes_contains_packed(farhash_bytes *bytes, const void *elements, size_t n,
	uint8_t results[]);

/* farhash_bytes_get copies the element of that name to where there is room for so many bytes. size
 * gets how many it has. If room is less, nothing is copied: FARHASH_ERROR_ARGUMENT. */
int farhash_bytes_get(farhash_bytes *bytes, uint64_t ref, void *element /* or NULL */,
	size_t room, size_t *size /* or NULL */);

/* The bytes of every element, 0 in a set of any length. */
int farhash_bytes_element_bytes(farhash_bytes *bytes, uint64_t *element_bytes);

int farhash_bytes_len(farhash_bytes *bytes, uint64_t *n);
int farhash_bytes_buckets(farhash_bytes *bytes, uint64_t *buckets);
int farhash_bytes_stats_get(farhash_bytes *bytes, farhash_set_stats *stats);
int farhash_bytes_save(farhash_bytes *bytes, const char *path);
int farhash_bytes_load(farhash_bytes *bytes, const char *path);
int farhash_bytes_check(farhash_bytes *bytes);
int farhash_bytes_close(farhash_bytes *bytes);

/* ---- Caches ---- */

typedef struct farhash_cache farhash_cache;

/* How reads and writes of a bucket are synchronized: by checksums alone, by a lock of each
 * group of buckets, or by a lock of each rank. */
enum { FARHASH_LOCK_FREE = 0, FARHASH_FINE = 1, FARHASH_COARSE = 2 };

/* Every rank gives the same. 0 is the default of everything but sizes and buckets. */
typedef struct farhash_cache_config {
	uint64_t key_size, value_size; /* bytes of every key and value, at least 1 */
	uint64_t buckets; /* of all ranks */
	int32_t mode;
	int32_t retries;        /* of a bucket that fails its checksum; below 0 none */
	uint32_t group_buckets; /* that are next to each other, 1 to 8 */
	uint32_t choices;       /* groups that a key may be in, 1 to 8 */
	uint32_t depth;         /* operations of a batch in flight, where memory is not direct */
	int32_t access;         /* FARHASH_AUTO, FARHASH_ONE_SIDED or FARHASH_SHIPPED */
	double ttl_seconds;     /* how long a pair is found after it was put; below 0: for ever, unless
	                         * it is put by farhash_cache_put_ttl. 0: no pair expires */
	uint32_t reserved[4];   /* 0 */
} farhash_cache_config;

/* What a rank, or all of them, has done with a cache. */
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
int farhash_cache_open(const char *path, const farhash_cache_config *config /* or NULL */,
	const farhash_open_options *options /* or NULL */, farhash_cache **cache);

/* The bytes of every key and of every value. */
int farhash_cache_sizes(farhash_cache *cache, uint64_t *key_size, uint64_t *value_size);

/* FARHASH_HIT or FARHASH_MISS. After a miss value is undefined. */
int farhash_cache_get(farhash_cache *cache, const void *key, void *value);

/* FARHASH_NEW, FARHASH_UPDATED or FARHASH_EVICTED. */
int farhash_cache_put(farhash_cache *cache, const void *key, const void *value);

/* farhash_cache_put_ttl is farhash_cache_put of a pair that is found for so long: below 0 for ever, 0
 * for the ttl_seconds of the cache. If these are 0 in the configuration, others are an error. */
int farhash_cache_put_ttl(farhash_cache *cache, const void *key, const void *value,
	double ttl_seconds);

/* FARHASH_HIT if the key was there. */
int farhash_cache_delete(farhash_cache *cache, const void *key);

/* Many at once. Keys are one after the other, and so are values. */
int farhash_cache_get_batch(farhash_cache *cache, const void *keys, size_t n, void *values,
	uint8_t hits[]);
int farhash_cache_put_batch(farhash_cache *cache, const void *keys, size_t n,
	const void *values, uint8_t results[]);
int farhash_cache_put_batch_ttl(farhash_cache *cache, const void *keys, size_t n,
	const void *values, double ttl_seconds, uint8_t results[]);

/* farhash_cache_update reads the value of key, has function change it in place and stores it.
 * found is 0 where the key was not there; value is then all zeros. If function returns 0 the
 * cache stays as it is, and so does the result: 0. Else as put. No lock is held during the call:
 * what others put in between is lost. */
int farhash_cache_update(farhash_cache *cache, const void *key,
	int (*function)(void *value, int found, void *argument), void *argument);

/* What this rank has done since the cache was made. */
int farhash_cache_stats_get(farhash_cache *cache, farhash_cache_stats *stats);

/* The same of all ranks and their sum; ranks is NULL or has room for one each. Collective. */
int farhash_cache_all_stats(farhash_cache *cache, farhash_cache_stats ranks[] /* or NULL */,
	farhash_cache_stats *total);

/* farhash_cache_locate finds which rank has a key in its memory, and in which bucket of that rank
 * it is; -1 and UINT64_MAX if it is nowhere. FARHASH_HIT or FARHASH_MISS. */
int farhash_cache_locate(farhash_cache *cache, const void *key, int32_t *rank, uint64_t *bucket);

/* farhash_cache_put_located is farhash_cache_put, and says where the pair is. It stays there until it
 * is evicted, deleted or cleared. */
int farhash_cache_put_located(farhash_cache *cache, const void *key, const void *value,
	int32_t *rank, uint64_t *bucket);

/* farhash_cache_get_at copies the pair that a bucket of a rank has by now. It may be another one
 * than before: compare the key. FARHASH_HIT or FARHASH_MISS. */
int farhash_cache_get_at(farhash_cache *cache, int32_t rank, uint64_t bucket, void *key,
	void *value);

/* farhash_cache_range calls function with every key and value, or with those in the memory of this
 * rank if local is not 0, until that returns other than 0, which is then the result if it is
 * positive. What is put during the call may come or not. */
int farhash_cache_range(farhash_cache *cache, int local, int (*function)(const void *key,
	size_t key_size, const void *value, size_t value_size, void *argument), void *argument);

/* How many keys there are: exact when nobody changes the cache. It reads every bucket. */
int farhash_cache_len(farhash_cache *cache, uint64_t *keys);

/* farhash_cache_clear empties the cache; nothing else may run on it then. Collective.
 * farhash_cache_used says which part of all buckets is in use, 0 to 1, from a sample. */
int farhash_cache_clear(farhash_cache *cache);
int farhash_cache_used(farhash_cache *cache, double *used);

/* How many buckets there are, in all ranks, which may be more than was asked for. */
int farhash_cache_buckets(farhash_cache *cache, uint64_t *buckets);

/* As for sets. Load puts what is in the file, and may evict. Collective. */
int farhash_cache_save(farhash_cache *cache, const char *path);
int farhash_cache_load(farhash_cache *cache, const char *path);
int farhash_cache_check(farhash_cache *cache);
int farhash_cache_close(farhash_cache *cache);

/* ---- Maps ---- */

typedef struct farhash_map farhash_map;

#define FARHASH_MAX_PAIR 65536 /* bytes of the longest key, and of the longest value */

/* Every rank gives the same. 0 is the default of everything: the map then grows while it is used. */
typedef struct farhash_map_config {
	uint64_t slots;              /* of all ranks; a key takes one, of 8 bytes, also when it is
	                              * deleted, until the table moves; with max_bytes: to begin with */
	uint64_t bytes;              /* of all ranks, for pairs, each of which takes 64 or a multiple;
	                              * 0: what max_bytes leaves */
	uint32_t max_key, max_value; /* the longest key and value, in bytes; 0: FARHASH_MAX_PAIR */
	uint32_t copies;             /* not 0: slots take 32 bytes, with pairs of up to 16 in them */
	uint32_t chunk;              /* slots that one remote get brings */
	uint32_t depth;              /* operations of a batch in flight */
	int32_t access;              /* FARHASH_AUTO, FARHASH_ONE_SIDED or FARHASH_SHIPPED */
	uint64_t max_bytes;          /* of all ranks, that slots and pairs may take while the map grows;
	                              * 0: .8 of the memory that the hosts have left (.05 over UCX and
	                              * MPI), or as slots and bytes say */
	uint32_t reserved[4];        /* 0 */
} farhash_map_config;

int farhash_map_new(farhash_job *job, const farhash_map_config *config, farhash_map **map);
int farhash_map_open(const char *path, const farhash_map_config *config /* or NULL */,
	const farhash_open_options *options /* or NULL */, farhash_map **map);

/* FARHASH_HIT or FARHASH_MISS. value has room for so many bytes, value_size gets how many the
 * value has, and version its version; either may be NULL. If room is less, nothing is copied and
 * the answer is FARHASH_ERROR_ARGUMENT; value_size holds. A version names what was put: each put
 * gives another, and 0 is for a key that is not there. */
int farhash_map_get(farhash_map *map, const void *key, size_t key_size, void *value, size_t room,
	size_t *value_size /* or NULL */, uint64_t *version /* or NULL */);

/* FARHASH_OK. version may be NULL, and gets the version of what was put. */
int farhash_map_put(farhash_map *map, const void *key, size_t key_size, const void *value,
	size_t value_size, uint64_t *version /* or NULL, in and out */);

/* FARHASH_INSERTED, or FARHASH_FOUND: the key was there, and keeps its value. */
int farhash_map_put_if_absent(farhash_map *map, const void *key, size_t key_size,
	const void *value, size_t value_size, uint64_t *version /* or NULL, in and out */);

/* FARHASH_UPDATED if the key had *version, else FARHASH_MISS: nothing has changed. *version gets the
 * present version. */
int farhash_map_compare_and_put(farhash_map *map, const void *key, size_t key_size,
	const void *value, size_t value_size, uint64_t *version /* in and out */);

/* FARHASH_OK. Adds to a counter, in one step: a value of 8 bytes, a little-endian int64_t that wraps
 * around. A key that is not there counts as 0. sum gets what the counter is then. A value of another
 * length stays as it is, and the answer is FARHASH_ERROR_ARGUMENT. */
int farhash_map_add(farhash_map *map, const void *key, size_t key_size, int64_t delta,
	int64_t *sum /* or NULL */, uint64_t *version /* or NULL */);

/* FARHASH_HIT if the key was there. */
int farhash_map_delete(farhash_map *map, const void *key, size_t key_size);

/* What a call of a batch does. */
enum {
	FARHASH_GET = 0,
	FARHASH_PUT = 1,
	FARHASH_DELETE = 2,
	FARHASH_PUT_IF_ABSENT = 3,
	FARHASH_COMPARE_AND_PUT = 4,
	FARHASH_ADD = 5
};

/* A call of a batch: the arguments of the function of its name, and what that would answer. */
typedef struct farhash_map_call {
	int32_t kind;
	int32_t result;    /* the answer or the error */
	const void *key;
	void *value;       /* what to put, or where a get copies to; of FARHASH_ADD an int64_t, what to
	                    * add and then the sum */
	size_t key_size;
	size_t value_size; /* of what to put, or of what a get has found */
	size_t room;       /* of value, for a get */
	uint64_t version;  /* as the argument of the functions */
} farhash_map_call;

/* Many at once, in any order. Every call gets its result. Returns the error of the first call that
 * has one, after all. */
int farhash_map_batch(farhash_map *map, farhash_map_call calls[] /* in and out */,
	size_t n);

/* farhash_map_range calls function with every key and value, until that returns other than 0,
 * which is then the result if it is positive. What is put or deleted then may come or not. */
int farhash_map_range(farhash_map *map, int (*function)(const void *key, size_t key_size,
	const void *value, size_t value_size, void *argument), void *argument);

typedef struct farhash_map_stats {
	uint64_t calls[6];       /* by what they do: FARHASH_GET and so on */
	uint64_t round_trips[6]; /* times that they had to wait */
	uint64_t lost_swaps;     /* compare-and-swaps that another one was faster than */
} farhash_map_stats;

/* What this rank has done. */
int farhash_map_stats_get(farhash_map *map, farhash_map_stats *stats);

/* How many keys there are: exact when nobody changes the map. It reads every slot. */
int farhash_map_len(farhash_map *map, uint64_t *keys);

/* As for sets; versions are not saved. Load puts what is in the file. Collective. */
int farhash_map_save(farhash_map *map, const char *path);
int farhash_map_load(farhash_map *map, const char *path);

/* farhash_map_check walks the whole map. Not collective; nobody may change the map then. */
int farhash_map_check(farhash_map *map);
int farhash_map_close(farhash_map *map);

/* ---- Indexes ---- */

typedef struct farhash_index farhash_index;

#define FARHASH_MAX_NOTE 65536 /* bytes of the longest note of an index, without the NUL */

/* Every rank gives the same. 0 is the default of everything but sizes. */
typedef struct farhash_index_config {
	uint64_t key_size;         /* bytes of every key: 4 to 4096 */
	uint64_t value_size;       /* of every value, or of the longest: 0 to 4096 */
	double load;               /* records for each slot: 0.8 */
	uint64_t max_memory_bytes; /* bytes that building may take on a rank; no limit */
	uint64_t max_copies;       /* records with the same key; any number */
	int32_t variable;          /* not 0: values have different sizes */
	uint32_t depth;            /* look-ups of a batch in flight */
	int32_t access;            /* FARHASH_AUTO, FARHASH_ONE_SIDED or FARHASH_SHIPPED */
	const char *note;          /* a text in UTF-8 that the file keeps, see farhash_index_note */
	uint32_t reserved[4];      /* 0 */
} farhash_index_config;

/* farhash_index_build makes an index of the records of all ranks. Each gives its own, in any
 * order: next returns 1 and sets *key, *value and *value_size, or returns 0 after the last one.
 * Anything negative ends the build for all, and is the result here. *value_size need not be set
 * unless sizes are variable. Keys may occur again; all records are kept. Collective. */
int farhash_index_build(farhash_job *job, const farhash_index_config *config,
	int (*next)(const void **key, const void **value, size_t *value_size, void *argument),
	void *argument, farhash_index **index);

/* farhash_index_build_batch does so of n records of this rank in arrays: keys are one after the
 * other, and so are values, at distances of config.value_size. sizes has the size of each value; it
 * is NULL unless sizes are variable. Collective. */
int farhash_index_build_batch(farhash_job *job, const farhash_index_config *config,
	const void *keys, const void *values, const size_t sizes[] /* or NULL */, size_t n,
	farhash_index **index);

/* Load makes an index of what farhash_index_save has written. With config NULL it is the one that
 * was saved, and where it can be the file is mapped, so that all jobs of a host share its memory;
 * nobody may write to the file while it is open. The sizes of config may be 0. Collective. */
int farhash_index_load(farhash_job *job, const char *path,
	const farhash_index_config *config /* or NULL */, farhash_index **index);
int farhash_index_save(farhash_index *index, const char *path);

/* farhash_index_get returns how many records have the key. value, with room for the longest, gets
 * the value of one of them, and value_size, which may be NULL, its size. */
int farhash_index_get(farhash_index *index, const void *key, void *value /* or NULL */,
	size_t *value_size /* or NULL */);

/* Many at once. Keys are one after the other, and so are values, at distances of config.value_size; counts[i]
 * is how many records have key i. sizes may be NULL. */
int farhash_index_get_batch(farhash_index *index, const void *keys, size_t n,
	void *values /* or NULL */, size_t sizes[] /* or NULL */, uint32_t counts[]);

/* The same with all records: found is called for each value of each key, in no particular order,
 * in this thread. It must not use the index. */
int farhash_index_lookup(farhash_index *index, const void *keys, size_t n,
	void (*found)(size_t i, const void *value, size_t value_size, void *argument),
	void *argument);

/* How many records all ranks have. */
int farhash_index_len(farhash_index *index, uint64_t *records);

/* The bytes of every key, and of the longest value; variable, which may be NULL, gets 1 if values
 * have different sizes, else 0. */
int farhash_index_sizes(farhash_index *index, uint64_t *key_size, uint64_t *value_size,
	int32_t *variable /* or NULL */);

/* farhash_index_note copies the note of the configuration that the index was built with, also of one
 * that was loaded, with a NUL at its end; "" if there was none. FARHASH_ERROR_ARGUMENT if room is
 * less; FARHASH_MAX_NOTE + 1 bytes are enough for any. */
int farhash_index_note(farhash_index *index, char *note, size_t room);

/* farhash_index_check verifies the whole index. Every rank gets the result. Collective. */
int farhash_index_check(farhash_index *index);
int farhash_index_close(farhash_index *index);

/* ---- Rounding ---- */

/* farhash_round rounds values to significant decimal digits in place, so that inputs which are
 * nearly equal become one key: digits[i] for values[i], or digits[0] for all if n_digits is 1.
 * 0, or more than 16, digits leave a value as it is. A magnitude below floors[i] (floors[0] if
 * n_floors is 1; no floor if n_floors is 0) becomes 0. -0 becomes 0, and every NaN the same. */
int farhash_round(double values[] /* in and out */, size_t n, const int32_t digits[],
	size_t n_digits, const double floors[], size_t n_floors);

#ifdef __cplusplus
}
#endif

#endif
