// A program that was written for MPI-DHT. Usage: mpirun -n RANKS dht DIRECTORY

#ifdef LUCX_MPI_IMPL
#include <LUCX/DHT.h>
#else
#include <LUCX/MPI/DHT.h>
#endif
#include <farhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

#define CLAIM(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank, #what); \
			MPI_Abort(MPI_COMM_WORLD, 1); \
		} \
	} while (0)

enum { KEY_DOUBLES = 10, DATA_DOUBLES = 13, PAIRS = 500 };

static long hashed; // calls of hash

static uint64_t hash(int bytes, const void *key) {
	hashed++;
	uint64_t h = 14695981039346656037u;
	for (int i = 0; i < bytes; i++)
		h = (h ^ ((const unsigned char *)key)[i]) * 1099511628211u;
	return h;
}

static void make(double *pair, int n, int seed) {
	for (int i = 0; i < n; i++)
		pair[i] = seed + 1.0 / (i + 1);
}

// sum adds the new value to what is there, and refuses from 100 on.
static int sum(int in_size, void *in, int out_size, void *out) {
	CLAIM(in_size == sizeof(double) && out_size == DATA_DOUBLES * sizeof(double));
	double *total = out;
	if (*total >= 100)
		return 9;
	*total += *(double *)in;
	return 0;
}

static void accumulate(DHT *table) {
	double key[KEY_DOUBLES], data[DATA_DOUBLES], term = 40;
	uint32_t proc, index;
	int answer = -1;
	make(key, KEY_DOUBLES, -1 - rank);
	CLAIM(DHT_write_accumulate(table, key, sizeof term, &term, NULL, NULL, &answer) < 0);
	DHT_set_accumulate_callback(table, sum);
	CLAIM(table->accumulate_callback == sum);
	for (int i = 1; i <= 3; i++) {
		int code = DHT_write_accumulate(table, key, sizeof term, &term, &proc, &index, &answer);
		CLAIM(answer == 0 && (code == DHT_SUCCESS || code == DHT_WRITE_SUCCESS_WITH_EVICTION));
		CLAIM(DHT_read(table, key, data) == DHT_SUCCESS && data[0] == 40 * i);
	}
	CLAIM(DHT_write_accumulate(table, key, sizeof term, &term, NULL, NULL, &answer) == DHT_SUCCESS);
	CLAIM(answer == 9);
	CLAIM(DHT_read(table, key, data) == DHT_SUCCESS && data[0] == 120);
}

// same claims that a call returns the same in all processes.
static int same(int code) {
	int least, most;
	MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(&code, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	CLAIM(least == most);
	return code;
}

// files are those that cannot be written or read: every process gets the same code.
static void files(DHT *table, const char *directory) {
	char path[4096], none[4096];
	CLAIM(same(DHT_to_file(table, "/nonexistent/none")) == DHT_FILE_IO_ERROR);
	CLAIM(same(DHT_from_file(table, "/nonexistent/none")) == DHT_FILE_IO_ERROR);
	CLAIM(same(DHT_to_file(table, NULL)) == DHT_UCX_ERROR);
	CLAIM(same(DHT_to_file(table, rank == 0 ? "" : "x")) == DHT_UCX_ERROR);
	// One process has another path, and the file of a path is unknown.
	snprintf(none, sizeof none, "%s/none/at/all", directory);
	snprintf(path, sizeof path, "%s/truncated", directory);
	FILE *f = rank == 0 ? fopen(path, "w") : NULL;
	CLAIM(rank != 0 || (f && fputs("this is no table", f) >= 0 && fclose(f) == 0));
	MPI_Barrier(MPI_COMM_WORLD);
	CLAIM(same(DHT_from_file(table, path)) == DHT_WRONG_FILE);
	CLAIM(same(DHT_from_file(table, rank == size - 1 ? none : path)) < 0);
}

// says claims that the last error has some words.
static int says(const char *words) { return strstr(farhash_last_error(), words) != NULL; }

// refused makes tables that cannot be: every process gets NULL and a reason.
static void refused(DHT_init_t good) {
	CLAIM(DHT_create(NULL) == NULL && says("init_params"));
	DHT_init_t init = good;
	init.data_size = 0;
	CLAIM(DHT_create(&init) == NULL && says("data_size 0"));
	init.data_size = -8;
	CLAIM(DHT_create(&init) == NULL && says("data_size -8"));
	init = good;
	init.key_size = rank == 0 ? 0 : 8;
	CLAIM(DHT_create(&init) == NULL && says(rank == 0 ? "key_size 0" : "key_size 8"));
	init = good;
	init.bucket_count = 0;
	CLAIM(DHT_create(&init) == NULL && says("bucket_count 0"));
	init = good;
	init.comm = MPI_COMM_NULL;
	CLAIM(DHT_create(&init) == NULL && says("MPI_COMM_NULL"));
	CLAIM(DHT_write(NULL, NULL, NULL, NULL, NULL) == DHT_UCX_ERROR && says("table is NULL"));
	CLAIM(DHT_read(NULL, NULL, NULL) == DHT_UCX_ERROR && DHT_to_file(NULL, "x") == DHT_UCX_ERROR);
	CLAIM(DHT_from_file(NULL, "x") == DHT_UCX_ERROR && DHT_free(NULL, NULL) == DHT_UCX_ERROR);
	CLAIM(DHT_print_statistics(NULL) == DHT_UCX_ERROR);
	DHT_set_accumulate_callback(NULL, NULL);
}

int main(int argc, char **argv) {
	char path[4096];
	double key[KEY_DOUBLES], data[DATA_DOUBLES], want[DATA_DOUBLES];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(path, sizeof path, "%s/dht", argc > 1 ? argv[1] : ".");
	DHT_init_t init = {.key_size = sizeof key, .data_size = sizeof data, .bucket_count = 4000,
		.hash_func = hash, .comm = MPI_COMM_WORLD};
	DHT *table = DHT_create(&init);
	CLAIM(table != NULL);
	CLAIM(table->key_size == sizeof key && table->data_size == sizeof data);
	CLAIM(table->bucket_count == 4000 && table->comm_size == size && table->hash_func == hash);
	make(key, KEY_DOUBLES, PAIRS * rank);
	CLAIM(DHT_read(table, key, data) == DHT_READ_MISS && hashed == 1);
	for (int i = 0; i < PAIRS; i++) {
		uint32_t proc = 12345, index = 12345;
		make(key, KEY_DOUBLES, PAIRS * rank + i);
		make(data, DATA_DOUBLES, 7 * (PAIRS * rank + i));
		int code = i % 2 ? DHT_write(table, key, data, &proc, &index)
			: DHT_write(table, key, data, NULL, NULL);
		CLAIM(code == DHT_SUCCESS || code == DHT_WRITE_SUCCESS_WITH_EVICTION);
		CLAIM(i % 2 == 0 || (proc < (uint32_t)size && index < 4000));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	int next = (rank + 1) % size, hits = 0;
	for (int i = 0; i < PAIRS; i++) {
		make(key, KEY_DOUBLES, PAIRS * next + i);
		make(want, DATA_DOUBLES, 7 * (PAIRS * next + i));
		if (DHT_read(table, key, data) == DHT_SUCCESS) {
			hits++;
			CLAIM(memcmp(data, want, sizeof data) == 0);
		}
	}
	CLAIM(hits > PAIRS * 99 / 100);
	CLAIM(DHT_print_statistics(table) == DHT_SUCCESS);
	accumulate(table);
	CLAIM(DHT_print_statistics(table) == DHT_SUCCESS);
	files(table, argc > 1 ? argv[1] : ".");
	CLAIM(DHT_to_file(table, path) == DHT_SUCCESS);
	uint32_t retries = 77;
	CLAIM(DHT_free(table, &retries) == DHT_SUCCESS);
	CLAIM(retries < 77);
	init.bucket_count = 5000;
	CLAIM((table = DHT_create(&init)) != NULL);
	CLAIM(DHT_from_file(table, path) == DHT_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	make(key, KEY_DOUBLES, -1 - next);
	CLAIM(DHT_read(table, key, data) == DHT_SUCCESS && data[0] == 120);
	CLAIM(DHT_from_file(table, "/nonexistent/none") == DHT_FILE_IO_ERROR);
	CLAIM(DHT_from_file(table, argv[0]) == DHT_WRONG_FILE);
	if (rank == 0)
		CLAIM(truncate(path, 20000) == 0);
	MPI_Barrier(MPI_COMM_WORLD);
	CLAIM(DHT_from_file(table, path) == DHT_FILE_READ_ERROR);
	CLAIM(DHT_free(table, NULL) == DHT_SUCCESS);
	init.key_size = 8;
	CLAIM((table = DHT_create(&init)) != NULL);
	CLAIM(DHT_from_file(table, path) == DHT_WRONG_FILE && says("keys of 80 bytes"));
	CLAIM(DHT_free(table, NULL) == DHT_SUCCESS);
	refused(init);
	for (int i = 0; i < 100; i++) {
		init.data_size = 1 + i;
		CLAIM((table = DHT_create(&init)) != NULL);
		CLAIM(DHT_free(table, NULL) == DHT_SUCCESS);
	}
	if (rank == 0)
		puts("all is well");
	MPI_Finalize();
	return 0;
}
