/* The interface of MPI-DHT, with the cache of farhash behind it: programs that were written for
 * MPI-DHT are compiled and linked against this header and -lfarhash_dht, and run as they are.
 * farhash_dht(3) lists the differences behind the interface. */
#ifndef DHT_H
#define DHT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results. */
#define DHT_SUCCESS 0
#define DHT_UCX_ERROR -1                   /* what failed is in farhash_last_error() */
#define DHT_READ_MISS -2                   /* the key is not there, or no more */
#define DHT_READ_CORRUPT -3                /* not used: what fails its checksum is a miss */
#define DHT_READ_INVALID -4                /* not used either */
#define DHT_WRITE_SUCCESS_WITH_EVICTION -5 /* written, and another key had to go */
#define DHT_WRONG_FILE -11                 /* other sizes of keys and data, or no such file at all */
#define DHT_FILE_IO_ERROR -12              /* cannot be opened */
#define DHT_FILE_READ_ERROR -13            /* truncated or corrupt */
#define DHT_FILE_WRITE_ERROR -14           /* cannot be written */
#define DHT_NO_MEM -15
#define DHT_NOT_IMPLEMENTED -32

#define DHT_FILEHEADER_SIZE 8

/* A table. Its fields are for reading. */
typedef struct DHT {
	int data_size;             /* bytes of data of an entry */
	int key_size;              /* bytes of a key */
	unsigned int bucket_count; /* of each process */
	MPI_Comm comm;
	int comm_size;
	uint64_t (*hash_func)(int, const void *);
	int (*accumulate_callback)(int, void *, int, void *);
	struct farhash_dht *inside;
} DHT;

/* How a table is made: the same on each process. */
typedef struct DHT_init {
	int key_size;
	int data_size;
	unsigned int bucket_count; /* of each process */
	uint64_t (*hash_func)(int, const void *); /* may be NULL: keys are hashed by farhash */
	MPI_Comm comm;
} DHT_init_t;

/* DHT_create makes a table whose memory is given by the processes of a communicator. NULL if it
 * cannot; farhash_last_error() has the reason. Collective. */
extern DHT *DHT_create(const DHT_init_t *init_params);

/* DHT_write stores data under a key. proc gets the process whose memory it is in and index the
 * bucket there; either may be NULL. */
extern int DHT_write(DHT *table, void *key, void *data, uint32_t *proc, uint32_t *index);

/* DHT_read copies the data of a key to destination. */
extern int DHT_read(DHT *table, const void *key, void *destination);

/* DHT_write_accumulate has the callback work send_size bytes of data into the data of the key,
 * which is all zeros if there was none, and stores that if the callback returns 0. What
 * it has returned goes to callback_ret. */
extern int DHT_write_accumulate(DHT *table, const void *key, int send_size, void *data,
	uint32_t *proc, uint32_t *index, int *callback_ret);

/* The callback gets send_size, data, and the size and the address of the data of the key. */
extern void DHT_set_accumulate_callback(DHT *table,
	int (*callback_func)(int, void *, int, void *));

/* To a file and back, with any number of processes and buckets. Collective. */
extern int DHT_to_file(DHT *table, const char *filename);
extern int DHT_from_file(DHT *table, const char *filename);

/* DHT_print_statistics has process 0 print what each process has done since the last time.
 * Collective. */
extern int DHT_print_statistics(DHT *table);

/* DHT_free gives the table back. chksum_retries may be NULL, or gets how often buckets failed
 * their checksum, on all processes together. Collective. */
extern int DHT_free(DHT *table, uint32_t *chksum_retries);

#ifdef __cplusplus
}
#endif

#endif
