/* The interface of the hash table that POET has in itself, up to version 0.4, made of the
 * cache of farhash: see farhash_dht.h. */
#ifndef DHT_H
#define DHT_H

#include "../../farhash_dht.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DHT_MPI_ERROR -1
#define DHT_WRITE_SUCCESS_WITH_EVICTION -3 /* written, and another key had to go */

#define DHT_create farhash_poet_create
#define DHT_free farhash_poet_free

/* DHT_create makes a table of the processes of a communicator, with so many buckets each. hash_func
 * may be NULL. NULL if it cannot; the reason is printed, and is in farhash_last_error().
 * Collective. */
extern DHT *DHT_create(MPI_Comm comm, uint64_t size_per_process, unsigned int data_size,
	unsigned int key_size, uint64_t (*hash_func)(int, const void *));

/* DHT_free gives the table back. The counters may be NULL, or get how many keys had to go and how
 * many reads were misses, on all processes together. Collective. */
extern int DHT_free(DHT *table, int *eviction_counter, int *readerror_counter);

#ifdef __cplusplus
}
#endif

#endif
