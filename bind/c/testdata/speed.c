// What single calls take, in nanoseconds: a line "NAME NS" for each; NAME-by-Go is the same without
// the fast path. With -DDROP_IN through the interface of MPI-DHT. Usage: speed PAIRS KEY VALUE

#include "try.h"

#include <time.h>

enum { CALLS = 1 << 19, ROUNDS = 5 };

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint8_t *keys, *values, value[1024];
static size_t pairs, key_size, value_size;

// pick is the same sequence as in the Go half.
static size_t pick(size_t i) { return mix(i) % pairs; }

// TIME prints the least time of a call in several rounds.
#define TIME(name, call) \
	do { \
		double least = 1e18; \
		for (int round = 0; round < ROUNDS; round++) { \
			double begin = now(); \
			for (size_t i = 0; i < CALLS; i++) { \
				size_t n = pick(i); \
				(void)n; \
				CLAIM((call) >= 0); \
			} \
			double each = (now() - begin) / CALLS; \
			least = each < least ? each : least; \
		} \
		printf("%s %.1f\n", name, least); \
	} while (0)

static void make_pairs(char **argv) {
	pairs = strtoul(argv[1], NULL, 10);
	key_size = strtoul(argv[2], NULL, 10);
	value_size = strtoul(argv[3], NULL, 10);
	CLAIM(value_size <= sizeof value);
	keys = malloc(pairs * key_size);
	values = malloc(pairs * value_size);
	CLAIM(keys && values);
	for (size_t i = 0; i < pairs; i++) {
		fill(keys + i * key_size, key_size, 100 * i);
		fill(values + i * value_size, value_size, 100 * i + 50);
	}
}

#ifdef DROP_IN

#include <LUCX/MPI/DHT.h>


int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	make_pairs(argv);
	DHT *table = DHT_create(&(DHT_init_t){.key_size = key_size, .data_size = value_size,
		.bucket_count = 2 * pairs, .comm = MPI_COMM_WORLD});
	CLAIM(table);
	for (size_t i = 0; i < pairs; i++)
		DHT_write(table, keys + i * key_size, values + i * value_size, NULL, NULL);
	TIME("get", DHT_read(table, keys + n * key_size, value) == DHT_UCX_ERROR ? -1 : 0);
	TIME("put", DHT_write(table, keys + n * key_size, values + n * value_size, NULL, NULL) ==
		DHT_UCX_ERROR ? -1 : 0);
	DHT_free(table, NULL);
	MPI_Finalize();
	return 0;
}

#else

#include "../library.h"

int main(int argc, char **argv) {
	farhash_job *job;
	farhash_cache *cache;
	farhash_set *set;
	CLAIM(argc == 4);
	make_pairs(argv);
	OK(farhash_join(NULL, &job));
	OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = key_size, .value_size = value_size,
		.buckets = 2 * pairs}, &cache));
	for (size_t i = 0; i < pairs; i++)
		CLAIM(farhash_cache_put(cache, keys + i * key_size, values + i * value_size) > 0);
	TIME("get", farhash_cache_get(cache, keys + n * key_size, value));
	TIME("put", farhash_cache_put(cache, keys + n * key_size, values + n * value_size));
	((fh_handle *)cache)->shape.ranks = 0;
	TIME("get-by-Go", farhash_cache_get(cache, keys + n * key_size, value));
	TIME("put-by-Go", farhash_cache_put(cache, keys + n * key_size, values + n * value_size));
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 2 * pairs}, &set));
	for (size_t i = 0; i < pairs; i++)
		CLAIM(farhash_set_find_or_put(set, mix(i) >> 1) > 0);
	TIME("find-or-put", farhash_set_find_or_put(set, mix(n) >> 1));
	TIME("contains", farhash_set_contains(set, mix(n) >> 1));
	OK(farhash_job_close(job));
	return 0;
}

#endif
