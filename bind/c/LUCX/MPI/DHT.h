/* The interface of MPI-DHT, made of the cache of farhash: see farhash_dht.h. It serves
 * programs for MPI-DHT on MPI and on UCX. */
#ifndef DHT_H
#define DHT_H

#include "../../farhash_dht.h"
#include "../Bootstrap.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DHT_UCX_ERROR -1
#define DHT_READ_CORRUPT -3                /* not used: what fails its checksum is a miss */
#define DHT_READ_INVALID -4                /* not used either */
#define DHT_WRITE_SUCCESS_WITH_EVICTION -5 /* written, and another key had to go */
#define DHT_NO_MEM -15
#define DHT_NOT_IMPLEMENTED -32

/* How a table is made: the same on each process. Its processes are in comm, or, if bcast_func
 * is UCX_INIT_BSTRAP_MPI, in the communicator that bcast_func_args points to. */
typedef struct DHT_init {
	int key_size;
	int data_size;
	unsigned int bucket_count; /* of each process */
	uint64_t (*hash_func)(int, const void *); /* may be NULL */
	MPI_Comm comm;
	ucx_worker_addr_bootstrap bcast_func;
	const void *bcast_func_args;
} DHT_init_t;

/* DHT_create makes a table whose memory is given by the processes of a communicator. NULL if it
 * cannot; the reason is printed, and is in farhash_last_error(). Collective. */
extern DHT *DHT_create(const DHT_init_t *init_params);

/* DHT_free gives the table back. chksum_retries may be NULL, or gets how often buckets failed
 * their checksum, on all processes together. Collective. */
extern int DHT_free(DHT *table, uint32_t *chksum_retries);

#ifdef __cplusplus
}
#endif

#endif
