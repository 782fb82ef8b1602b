/* Tables that have several entries under a key, as in DHT.h of this folder. */
#ifndef PHT_H
#define PHT_H

#include "DHT.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PHT_SUCCESS DHT_SUCCESS
#define PHT_ERROR DHT_UCX_ERROR
#define PHT_READ_MISS DHT_READ_MISS
#define PHT_WRITE_SUCCESS_WITH_EVICTION DHT_WRITE_SUCCESS_WITH_EVICTION
#define PHT_WRONG_FILE DHT_WRONG_FILE
#define PHT_FILE_IO_ERROR DHT_FILE_IO_ERROR
#define PHT_FILE_READ_ERROR DHT_FILE_READ_ERROR
#define PHT_FILE_WRITE_ERROR DHT_FILE_WRITE_ERROR
#define PHT_NO_MEM DHT_NO_MEM

/* A table. Its fields are for reading. */
typedef struct PHT {
	DHT table;              /* its data: how many entries there are, and these */
	int data_size;          /* bytes of an entry */
	unsigned int max_entries; /* under a key */
} PHT;

/* PHT_create is DHT_create for a table with room for so many entries of data_size under a key. */
extern int PHT_create(int key_size, int data_size, unsigned int bucket_count,
	unsigned int max_entries, uint64_t (*hash_func)(int, const void *), MPI_Comm comm, PHT *pht);

/* PHT_write adds an entry to a key, unless the key has it already or has no room for it.
 * PHT_WRITE_SUCCESS_WITH_EVICTION: another key had to go with its entries. proc and index are as
 * for DHT_write. */
extern int PHT_write(PHT *pht, void *key, void *data, uint32_t *proc, uint32_t *index);

/* PHT_read copies the entries of a key to destination, one after the other, and says how many
 * there are. */
extern int PHT_read(PHT *pht, const void *key, void *destination, uint32_t *entries);

/* As for a DHT. Collective. */
extern int PHT_flush(PHT *pht);
extern int PHT_to_file(PHT *pht, const char *filename);
extern int PHT_from_file(PHT *pht, const char *filename);
extern int PHT_print_statistics(PHT *pht);
extern int PHT_free(PHT *pht, uint32_t *chksum_retries);

#ifdef __cplusplus
}
#endif

#endif
