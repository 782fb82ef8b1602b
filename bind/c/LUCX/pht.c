// Tables with several entries under a key: their data is how many there are, and these.

#include <string.h>

#include "farhash/pht/LUCX/PHT.h"
#include "inside.h"

// add is the callback: it adds an entry that is not there yet, if there is room for it.
static int add(int size, void *entry, int data_size, void *data) {
	uint64_t n, max = ((uint64_t)data_size - sizeof n) / (uint64_t)size;
	char *entries = (char *)data + sizeof n;
	memcpy(&n, data, sizeof n);
	if (n >= max)
		return 1;
	for (uint64_t i = 0; i < n; i++)
		if (memcmp(entries + i * (uint64_t)size, entry, (size_t)size) == 0)
			return 1;
	memcpy(entries + n * (uint64_t)size, entry, (size_t)size);
	n++;
	memcpy(data, &n, sizeof n);
	return 0;
}

int PHT_create(int key_size, int data_size, unsigned buckets, unsigned max_entries,
	uint64_t (*hash)(int, const void *), MPI_Comm comm, PHT *pht) {
	int64_t all = (int64_t)data_size * max_entries;
	fh_dht_shape shape = {.call = "PHT_create", .key_size = key_size,
		.data_size = all > 0 ? (int64_t)sizeof(uint64_t) + all : 0, .buckets = buckets,
		.hash = hash, .comm = comm, .evicted = PHT_WRITE_SUCCESS_WITH_EVICTION};
	int code = fh_dht_make(&shape, pht ? &pht->table : NULL);
	if (!pht)
		return code;
	pht->data_size = data_size;
	pht->max_entries = max_entries;
	if (code == PHT_SUCCESS)
		DHT_set_accumulate_callback(&pht->table, add);
	return code;
}

static DHT *table_of(PHT *pht) { return pht ? &pht->table : NULL; }

int PHT_write(PHT *pht, void *key, void *data, uint32_t *proc, uint32_t *index) {
	return DHT_write_accumulate(table_of(pht), key, pht ? pht->data_size : 0, data, proc, index, NULL);
}

int PHT_read(PHT *pht, const void *key, void *destination, uint32_t *entries) {
	uint64_t n = 0;
	if (entries)
		*entries = 0;
	if (!fh_dht_usable(table_of(pht)))
		return PHT_ERROR;
	char *data = malloc((size_t)pht->table.data_size);
	if (!data) {
		farhash_refuse(FARHASH_ERROR_MEMORY, "farhash_dht: there is no memory for entries");
		return PHT_NO_MEM;
	}
	int code = DHT_read(&pht->table, key, data);
	if (code == PHT_SUCCESS) {
		memcpy(&n, data, sizeof n);
		memcpy(destination, data + sizeof n, n * (size_t)pht->data_size);
		if (entries)
			*entries = (uint32_t)n;
	}
	free(data);
	return code;
}

int PHT_flush(PHT *pht) { return DHT_flush(table_of(pht)); }
int PHT_to_file(PHT *pht, const char *filename) { return DHT_to_file(table_of(pht), filename); }
int PHT_from_file(PHT *pht, const char *filename) { return DHT_from_file(table_of(pht), filename); }
int PHT_print_statistics(PHT *pht) { return DHT_print_statistics(table_of(pht)); }

int PHT_free(PHT *pht, uint32_t *chksum_retries) {
	return DHT_free(table_of(pht), chksum_retries);
}
