/* The interface of MPI-DHT in which the program gives the memory for a DHT, made of the
 * cache of farhash: see farhash_dht.h. */
#ifndef DHT_H
#define DHT_H

#include "../../../farhash_dht.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DHT_UCX_ERROR -1
#define DHT_MPI_ERROR -1
#define DHT_WRITE_SUCCESS_WITH_EVICTION -5 /* written, and another key had to go */
#define DHT_NO_MEM -15

#define DHT_create farhash_pht_create
#define DHT_free farhash_pht_free

/* DHT_create makes a table of the processes of a communicator, with so many buckets each. hash_func
 * may be NULL. DHT_SUCCESS, or an error: then the reason is printed, and is in
 * farhash_last_error(), and calls with the table are errors. Collective. */
extern int DHT_create(int key_size, int data_size, unsigned int bucket_count,
	uint64_t (*hash_func)(int, const void *), MPI_Comm comm, DHT *table);

/* DHT_free gives the table back, and not the memory of the DHT. chksum_retries may be NULL, or gets
 * how often buckets failed their checksum, on all processes together. Collective. */
extern int DHT_free(DHT *table, uint32_t *chksum_retries);

#ifdef __cplusplus
}
#endif

#endif
