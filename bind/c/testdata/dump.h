// What the programs for the interfaces of MPI-DHT share. The interface is included before.

#ifndef DUMP_H
#define DUMP_H

#include <farhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_WORDS = 3, DATA_WORDS = 5, PAIRS = 300 };

static int world, rank, size; // in MPI_COMM_WORLD, and among the workers
static MPI_Comm workers;
static long hashed; // calls of hash

#define CLAIM(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: process %d: not so: %s; the last error: %s\n", __FILE__, \
				__LINE__, world, #what, farhash_last_error()); \
			MPI_Abort(MPI_COMM_WORLD, 1); \
		} \
	} while (0)

static uint64_t hash(int bytes, const void *key) {
	uint64_t h = 14695981039346656037u;
	hashed++;
	for (int i = 0; i < bytes; i++)
		h = (h ^ ((const unsigned char *)key)[i]) * 1099511628211u;
	return h;
}

static inline void fill(uint64_t *words, int n, uint64_t number) {
	for (int i = 0; i < n; i++)
		words[i] = number * (2 * i + 1);
}

// employ makes a communicator of all processes but 0, the master, which gets their sums with work.
static void employ(int (*work)(void)) {
	MPI_Comm_rank(MPI_COMM_WORLD, &world);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split(MPI_COMM_WORLD, world ? 1 : MPI_UNDEFINED, world, &workers);
	if (world == 0) {
		for (int i = 1, number; i < size; i++) {
			MPI_Recv(&number, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CLAIM(number == i);
		}
		puts("all is well");
		fflush(stdout);
	} else {
		MPI_Comm_rank(workers, &rank);
		MPI_Comm_size(workers, &size);
		CLAIM(work());
		MPI_Send(&world, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	}
}

// pairs writes and reads pairs, of this process and of the next one, and reads them by their places.
static inline void pairs(DHT *table) {
	uint64_t key[KEY_WORDS], data[DATA_WORDS], want[DATA_WORDS];
	static uint32_t proc[PAIRS], place[PAIRS];
	long before = hashed;
	for (int i = 0; i < PAIRS; i++) {
		fill(key, KEY_WORDS, 1 + PAIRS * rank + i);
		fill(data, DATA_WORDS, 7 + PAIRS * rank + i);
		int code = DHT_write(table, key, data, &proc[i], &place[i]);
		CLAIM(code == DHT_SUCCESS || code == DHT_WRITE_SUCCESS_WITH_EVICTION);
		CLAIM(proc[i] < (uint32_t)size && place[i] < table->bucket_count + 8);
	}
	CLAIM(!table->hash_func || hashed == before + PAIRS);
	CLAIM(DHT_barrier(table) == DHT_SUCCESS);
	int hits = 0, placed = 0, next = (rank + 1) % size;
	for (int i = 0; i < PAIRS; i++) {
		fill(key, KEY_WORDS, 1 + PAIRS * next + i);
		fill(want, DATA_WORDS, 7 + PAIRS * next + i);
		int code = DHT_read(table, key, data);
		CLAIM(code == DHT_READ_MISS ||
			(code == DHT_SUCCESS && memcmp(data, want, sizeof data) == 0));
		hits += code == DHT_SUCCESS;
		fill(want, DATA_WORDS, 7 + PAIRS * rank + i);
		code = DHT_read_location(table, proc[i], place[i], data);
		placed += code == DHT_SUCCESS && memcmp(data, want, sizeof data) == 0;
	}
	CLAIM(hits > PAIRS * 95 / 100 && placed > PAIRS * 95 / 100);
	CLAIM(DHT_read_location(table, UINT32_MAX, UINT32_MAX, data) == DHT_READ_MISS);
	CLAIM(DHT_read_location(table, (uint32_t)size, 0, data) == -1);
	CLAIM(DHT_barrier(table) == DHT_SUCCESS);
}

// entries counts what a dump of MPI-DHT has, and claims that it is that.
static inline long entries(const char *path) {
	int header[2];
	uint64_t entry[KEY_WORDS + DATA_WORDS], data[DATA_WORDS];
	long n = 0;
	FILE *f = fopen(path, "r");
	CLAIM(f && fread(header, sizeof header, 1, f) == 1);
	CLAIM(header[0] == KEY_WORDS * 8 && header[1] == DATA_WORDS * 8);
	for (; fread(entry, sizeof entry, 1, f) == 1; n++) {
		fill(data, DATA_WORDS, entry[0] + 6);
		CLAIM(memcmp(entry + KEY_WORDS, data, sizeof data) == 0);
	}
	CLAIM(feof(f) && fclose(f) == 0);
	return n;
}

// no_dump has a file refused that begins with some bytes, for a reason.
static inline void no_dump(DHT *table, const char *path, const void *bytes, size_t n, int code,
	const char *why) {
	CLAIM(DHT_barrier(table) == DHT_SUCCESS);
	if (rank == 0) {
		FILE *f = fopen(path, "w");
		CLAIM(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
	}
	CLAIM(DHT_barrier(table) == DHT_SUCCESS);
	CLAIM(DHT_from_file(table, path) == code && strstr(farhash_last_error(), why));
}

static inline void no_dumps(DHT *table, const char *folder) {
	char path[4096];
	int other[2] = {__builtin_bswap32(KEY_WORDS * 8), __builtin_bswap32(DATA_WORDS * 8)};
	int sizes[2] = {8, 8}, part[3] = {KEY_WORDS * 8, DATA_WORDS * 8, 1};
	snprintf(path, sizeof path, "%s/none.dht", folder);
	no_dump(table, path, other, sizeof other, DHT_WRONG_FILE, "byte order");
	no_dump(table, path, sizes, sizeof sizes, DHT_WRONG_FILE, "keys of 8 bytes");
	no_dump(table, path, "farhash\0cache", 13, DHT_WRONG_FILE, "farhash_cache_load");
	no_dump(table, path, part, sizeof part, DHT_FILE_READ_ERROR, "truncated");
	no_dump(table, path, part, 4, DHT_FILE_READ_ERROR, "truncated");
	CLAIM(DHT_from_file(table, folder) == DHT_FILE_IO_ERROR);
}

// dumps writes the pairs of a table, empties it, and reads them and a file as MPI-DHT writes it.
static inline void dumps(DHT *table, const char *folder) {
	char path[4096];
	uint64_t key[KEY_WORDS], data[DATA_WORDS];
	int header[2] = {KEY_WORDS * 8, DATA_WORDS * 8};
	snprintf(path, sizeof path, "%s/table.dht", folder);
	CLAIM(DHT_to_file(table, path) == DHT_SUCCESS);
	CLAIM(entries(path) > (long)PAIRS * size * 95 / 100);
	float used = DHT_get_used_idx_factor(table, 1);
	CLAIM(used > 1 && used < 2);
	CLAIM(DHT_flush(table) == DHT_SUCCESS);
	CLAIM(DHT_get_used_idx_factor(table, 1) == 1);
	fill(key, KEY_WORDS, 1 + PAIRS * rank);
	CLAIM(DHT_read(table, key, data) == DHT_READ_MISS);
	CLAIM(DHT_from_file(table, path) == DHT_SUCCESS);
	CLAIM(DHT_read(table, key, data) == DHT_SUCCESS && data[0] == (uint64_t)(7 + PAIRS * rank));
	no_dumps(table, folder);
	snprintf(path, sizeof path, "%s/small.dht", folder);
	if (rank == 0) {
		FILE *f = fopen(path, "w");
		CLAIM(f && fwrite(header, sizeof header, 1, f) == 1);
		fill(key, KEY_WORDS, 1000001);
		fill(data, DATA_WORDS, 1000007);
		CLAIM(fwrite(key, sizeof key, 1, f) == 1 && fwrite(data, sizeof data, 1, f) == 1);
		CLAIM(fclose(f) == 0);
	}
	CLAIM(DHT_barrier(table) == DHT_SUCCESS && DHT_from_file(table, path) == DHT_SUCCESS);
	CLAIM(DHT_barrier(table) == DHT_SUCCESS); // all have put what they have read
	fill(key, KEY_WORDS, 1000001);
	CLAIM(DHT_read(table, key, data) == DHT_SUCCESS && data[0] == 1000007);
}

#endif
