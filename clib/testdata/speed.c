// What single calls take, in nanoseconds: a line "NAME NS" for each. With -DDROP_IN through the
// interface of MPI-DHT. Usage: speed PAIRS

#include "try.h"

#include <time.h>

enum { KEY = 80, VALUE = 104, CALLS = 1 << 19, ROUNDS = 5 };

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint8_t *keys, *values, value[VALUE];
static size_t pairs;

// pick is the same sequence as that of the Go half.
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

static void make_pairs(void) {
	keys = malloc(pairs * KEY);
	values = malloc(pairs * VALUE);
	CLAIM(keys && values);
	for (size_t i = 0; i < pairs; i++) {
		fill(keys + i * KEY, KEY, 100 * i);
		fill(values + i * VALUE, VALUE, 100 * i + 50);
	}
}

#ifdef DROP_IN

#include <LUCX/MPI/DHT.h>


int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	pairs = strtoul(argv[1], NULL, 10);
	make_pairs();
	DHT *table = DHT_create(&(DHT_init_t){.key_size = KEY, .data_size = VALUE,
		.bucket_count = 2 * pairs, .comm = MPI_COMM_WORLD});
	CLAIM(table);
	for (size_t i = 0; i < pairs; i++)
		DHT_write(table, keys + i * KEY, values + i * VALUE, NULL, NULL);
	TIME("get", DHT_read(table, keys + n * KEY, value) == DHT_UCX_ERROR ? -1 : 0);
	TIME("put", DHT_write(table, keys + n * KEY, values + n * VALUE, NULL, NULL) == DHT_UCX_ERROR
		? -1 : 0);
	DHT_free(table, NULL);
	MPI_Finalize();
	return 0;
}

#else

int main(int argc, char **argv) {
	farhash_job *job;
	farhash_cache *cache;
	farhash_set *set;
	CLAIM(argc == 2);
	pairs = strtoul(argv[1], NULL, 10);
	make_pairs();
	OK(farhash_join(NULL, &job));
	OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = KEY, .value_size = VALUE,
		.buckets = 2 * pairs}, &cache));
	for (size_t i = 0; i < pairs; i++)
		CLAIM(farhash_cache_put(cache, keys + i * KEY, values + i * VALUE) > 0);
	TIME("get", farhash_cache_get(cache, keys + n * KEY, value));
	TIME("put", farhash_cache_put(cache, keys + n * KEY, values + n * VALUE));
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 2 * pairs}, &set));
	for (size_t i = 0; i < pairs; i++)
		CLAIM(farhash_set_find_or_put(set, mix(i) >> 1) > 0);
	TIME("find-or-put", farhash_set_find_or_put(set, mix(n) >> 1));
	TIME("contains", farhash_set_contains(set, mix(n) >> 1));
	OK(farhash_job_close(job));
	return 0;
}

#endif
