// A program for the interface with <LUCX/PHT.h>. Usage: mpirun -n RANKS pht DIRECTORY

#include <LUCX/PHT.h>

#include "dump.h"

static const char *folder;

static void several(void) {
	PHT pht;
	uint32_t proc, place, n = 77;
	uint64_t key[KEY_WORDS], seen[4];
	char path[4096];
	CLAIM(PHT_create(KEY_WORDS * 8, 8, 1000, 3, hash, workers, &pht) == PHT_SUCCESS);
	fill(key, KEY_WORDS, 1 + rank);
	CLAIM(PHT_read(&pht, key, seen, &n) == PHT_READ_MISS && n == 0);
	for (uint64_t i = 10; i < 14; i++) { // there is room for three
		CLAIM(PHT_write(&pht, key, &i, NULL, NULL) == PHT_SUCCESS);
		CLAIM(PHT_write(&pht, key, &i, &proc, &place) == PHT_SUCCESS);
		CLAIM(proc < (uint32_t)size);
	}
	CLAIM(PHT_read(&pht, key, seen, &n) == PHT_SUCCESS && n == 3);
	CLAIM(seen[0] == 10 && seen[1] == 11 && seen[2] == 12);
	snprintf(path, sizeof path, "%s/table.pht", folder);
	CLAIM(PHT_to_file(&pht, path) == PHT_SUCCESS && PHT_flush(&pht) == PHT_SUCCESS);
	CLAIM(PHT_read(&pht, key, seen, &n) == PHT_READ_MISS);
	CLAIM(PHT_from_file(&pht, path) == PHT_SUCCESS);
	CLAIM(PHT_read(&pht, key, seen, &n) == PHT_SUCCESS && n == 3);
	CLAIM(PHT_print_statistics(&pht) == PHT_SUCCESS);
	CLAIM(PHT_free(&pht, NULL) == PHT_SUCCESS);
	CLAIM(PHT_create(8, 8, 100, 0, hash, workers, &pht) == PHT_ERROR);
	CLAIM(PHT_write(&pht, key, seen, NULL, NULL) == PHT_ERROR && PHT_free(&pht, NULL) == PHT_ERROR);
	CLAIM(PHT_read(NULL, key, seen, &n) == PHT_ERROR);
}

static int work(void) {
	DHT table;
	uint32_t retries = 77;
	uint64_t word = 0;
	CLAIM(DHT_create(KEY_WORDS * 8, DATA_WORDS * 8, 4000, hash, workers, &table) == DHT_SUCCESS);
	CLAIM(table.bucket_count == 4000 && table.data_size == DATA_WORDS * 8);
	pairs(&table);
	dumps(&table, folder);
	several();
	CLAIM(DHT_print_statistics(&table) == DHT_SUCCESS);
	CLAIM(DHT_free(&table, &retries) == DHT_SUCCESS && retries < 77);
	CLAIM(DHT_create(-1, 8, 100, hash, workers, &table) == DHT_UCX_ERROR);
	CLAIM(strstr(farhash_last_error(), "key_size -1"));
	CLAIM(DHT_read(&table, &word, &word) == DHT_UCX_ERROR);
	CLAIM(DHT_create(8, 8, 100, hash, workers, rank ? &table : NULL) < 0);
	return 1;
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	folder = argc > 1 ? argv[1] : ".";
	employ(work);
	MPI_Finalize();
	return 0;
}
