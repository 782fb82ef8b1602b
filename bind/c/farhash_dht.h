/* What the interfaces of MPI-DHT have in common, which are made of the cache of farhash. Programs
 * include the header of the interface that they were written for:
 *
 *   <LUCX/DHT.h>, <LUCX/MPI/DHT.h>   MPI-DHT: DHT_create(&init)
 *   <DHT.h> in farhash/poet          POET 0.4 and before: DHT_create(comm, buckets, ...)
 *   <LUCX/DHT.h>, <LUCX/PHT.h> in farhash/pht
 *                                    later: int DHT_create(key_size, data_size, ..., &table)
 *
 * and link -lfarhash_dht, which has all three. farhash_dht(3) lists the differences after the
 * interfaces. */
#ifndef FARHASH_DHT_H
#define FARHASH_DHT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "farhash_same_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The MPI that the library was built for: openmpi, mpich or an empty text. */
extern const char *farhash_dht_built_for(void);

FARHASH_SAME_MPI(farhash_dht_check_mpi, "farhash_dht", farhash_dht_built_for())

/* Results. What has failed is in farhash_last_error(). Each interface has a number of its own for
 * DHT_WRITE_SUCCESS_WITH_EVICTION. */
#define DHT_SUCCESS 0
#define DHT_READ_MISS -2        /* the key is not there, or no more */
#define DHT_WRONG_FILE -11      /* other sizes of keys and data, or no such file at all */
#define DHT_FILE_IO_ERROR -12   /* cannot be opened or closed */
#define DHT_FILE_READ_ERROR -13 /* truncated, or cannot be read */
#define DHT_FILE_WRITE_ERROR -14

#define DHT_FILEHEADER_SIZE 8

/* A table. Its fields are for reading. */
typedef struct DHT {
	int data_size; /* bytes of data of an entry */
	int key_size;  /* bytes of a key */
	union {
		unsigned int bucket_count; /* of each process */
		unsigned int table_size;
	};
	union {
		MPI_Comm comm;
		MPI_Comm communicator;
	};
	int comm_size;
	uint64_t (*hash_func)(int, const void *);
	int (*accumulate_callback)(int, void *, int, void *);
	int read_misses, evictions; /* of this process, since the table was made */
	struct farhash_dht *inside;
} DHT;

/* DHT_write stores data under a key. proc gets the process whose memory it is in and index the
 * bucket there; either may be NULL. It stays there until it is evicted. */
extern int DHT_write(DHT *table, void *key, void *data, uint32_t *proc, uint32_t *index);

/* DHT_read copies the data of a key to destination. */
extern int DHT_read(DHT *table, const void *key, void *destination);

/* DHT_read_location copies the data that is in a bucket: what DHT_write has put there, or the data
 * of another key that it had to go for. DHT_READ_MISS if the bucket has none. */
extern int DHT_read_location(DHT *table, uint32_t proc, uint32_t index, void *destination);

/* DHT_write_accumulate has the callback work send_size bytes of data into the data of the key,
 * which is all zeros if there was none, and stores that if the callback returns 0. What
 * it has returned goes to callback_ret. */
extern int DHT_write_accumulate(DHT *table, const void *key, int send_size, void *data,
	uint32_t *proc, uint32_t *index, int *callback_ret);

/* The callback gets send_size, data, and the size and the address of the data of the key. */
extern void DHT_set_accumulate_callback(DHT *table,
	int (*callback_func)(int, void *, int, void *));

/* DHT_flush empties the table. Collective, as all that follow. */
extern int DHT_flush(DHT *table);

/* DHT_get_used_idx_factor is how many of the candidates of a new key would have to be examined until
 * one is free, on average, as full as the table is now: 1 if it is empty, 2 if it is half full. */
extern float DHT_get_used_idx_factor(DHT *table, int with_reset);

/* To a dump file of MPI-DHT and back, with any number of processes and buckets. What fails its
 * checks is not loaded at all. */
extern int DHT_to_file(DHT *table, const char *filename);
extern int DHT_from_file(DHT *table, const char *filename);

/* DHT_print_statistics has process 0 print what each process has done since the last time. */
extern int DHT_print_statistics(DHT *table);

/* DHT_barrier waits for all processes of the table. */
extern int DHT_barrier(DHT *table);

#ifdef __cplusplus
}
#endif

#endif
