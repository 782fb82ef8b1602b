// A program for the hash table of POET 0.4. Usage: mpirun -n RANKS poet DIRECTORY

#include <DHT.h>

#include "dump.h"

static const char *folder;

// append adds a number to those that are there, and refuses a fourth.
static int append(int in_size, void *in, int out_size, void *out) {
	uint64_t *all = out;
	CLAIM(in_size == 8 && out_size == DATA_WORDS * 8);
	if (all[0] == 3)
		return 9;
	all[++all[0]] = *(uint64_t *)in;
	return 0;
}

static void accumulate(DHT *table) {
	uint64_t key[KEY_WORDS], data[DATA_WORDS];
	int answer = -1;
	DHT_set_accumulate_callback(table, append);
	fill(key, KEY_WORDS, 5000000 + rank);
	for (uint64_t i = 0; i < 4; i++) {
		uint32_t proc, place;
		CLAIM(DHT_write_accumulate(table, key, 8, &i, &proc, &place, &answer) == DHT_SUCCESS);
		CLAIM(answer == (i < 3 ? 0 : 9));
		CLAIM(DHT_read_location(table, proc, place, data) == DHT_SUCCESS && data[0] >= i);
	}
	CLAIM(DHT_read(table, key, data) == DHT_SUCCESS && data[0] == 3 && data[3] == 2);
}

// crowd puts more than there is room for.
static int crowd(DHT *table) {
	uint64_t key[KEY_WORDS], data[DATA_WORDS] = {0};
	int evicted = 0;
	for (int i = 0; i < 500; i++) {
		fill(key, KEY_WORDS, 9000000 + 1000 * rank + i);
		int code = DHT_write(table, key, data, NULL, NULL);
		CLAIM(code == DHT_SUCCESS || code == -3);
		evicted += code == DHT_WRITE_SUCCESS_WITH_EVICTION;
	}
	CLAIM(evicted > 0 && table->evictions == evicted);
	return evicted;
}

static int work(void) {
	DHT *table = DHT_create(workers, 4000, DATA_WORDS * 8, KEY_WORDS * 8, hash);
	CLAIM(table && table->table_size == 4000 && table->comm_size == size);
	CLAIM(table->communicator == workers && table->hash_func == hash);
	pairs(table);
	dumps(table, folder);
	accumulate(table);
	CLAIM(DHT_print_statistics(table) == DHT_SUCCESS);
	CLAIM(table->read_misses > 0);
	CLAIM(DHT_free(table, NULL, NULL) == DHT_SUCCESS);
	CLAIM((table = DHT_create(workers, 100, DATA_WORDS * 8, KEY_WORDS * 8, NULL)) != NULL);
	int evicted = crowd(table), misses = 0, all = 0, sum = 0;
	MPI_Allreduce(&evicted, &sum, 1, MPI_INT, MPI_SUM, workers);
	CLAIM(DHT_free(table, &all, &misses) == DHT_SUCCESS && all == sum && misses == 0);
	// What is refused says why; calls with no table are errors.
	CLAIM(!DHT_create(workers, 0, 8, 8, hash) && strstr(farhash_last_error(), "bucket_count 0"));
	CLAIM(!DHT_create(workers, 8, 8, rank ? 8 : 0, hash));
	CLAIM(DHT_read(NULL, &sum, &sum) == DHT_MPI_ERROR && DHT_flush(NULL) == DHT_MPI_ERROR);
	CLAIM(DHT_free(NULL, NULL, NULL) == DHT_MPI_ERROR);
	return 1;
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	folder = argc > 1 ? argv[1] : ".";
	employ(work);
	MPI_Finalize();
	return 0;
}
