// What the files of the interfaces of MPI-DHT share.

#ifndef FARHASH_LUCX_INSIDE_H
#define FARHASH_LUCX_INSIDE_H

#include <stddef.h>

#include "farhash_dht.h"
#include "farhash_mpi.h"
#include "library.h"

// Results that only some interfaces have names for.
enum { FH_DHT_ERROR = -1, FH_DHT_NO_MEM = -15 };

struct farhash_dht {
	farhash_job *job;
	farhash_cache *cache;
	int evicted;       // what DHT_write returns where another key had to go
	size_t hash_bytes; // of a key of the cache
	// Of all processes, when DHT_print_statistics was called last.
	uint64_t occupied;
	farhash_cache_stats *counted; // by each process, and the sum
};

// How a table is made.
typedef struct {
	const char *call; // the function of the interface, for messages
	int64_t key_size, data_size;
	uint64_t buckets;
	uint64_t (*hash)(int, const void *);
	MPI_Comm comm;
	int evicted;
} fh_dht_shape;

// fh_dht_make fills in a table, or sets it to zeros and prints the reason. It returns a code of the
// interfaces. Collective, as is fh_dht_end, which gives its totals to all processes.
int fh_dht_make(const fh_dht_shape *shape, DHT *table);

typedef struct {
	uint32_t mismatches;
	int evictions, read_misses;
} fh_dht_totals;
int fh_dht_end(DHT *table, fh_dht_totals *totals);

// fh_dht_usable reports whether there is a table, or notes that there is none.
int fh_dht_usable(const DHT *table);

// fh_dht_error is a code of farhash.h as one of the interfaces.
int fh_dht_error(int code);

// fh_dht_outcome is what all processes return from a collective call: the least of their codes.
int fh_dht_outcome(const DHT *table, int code);

// The keys of a table that has a hash function begin with what that returns for them: so it is
// asked for every key, and keys are spread by it. fh_dht_key writes the key of the cache.
void fh_dht_key(const DHT *table, const void *key, char *to);

#endif
