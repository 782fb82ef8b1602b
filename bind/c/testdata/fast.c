// The fast path (fastpath.c) against package cache: two caches get the same calls, one as a program
// makes them, the other in batches of one, which always go to Go. Both give the same answers and
// have the same pairs in the same places. Usage: fast, or with -DBY_MPI: mpirun -n RANKS fast
// THREADLEVEL, which has MPI move all words.

#include <time.h>

#ifdef BY_MPI
#include "farhash_mpi.h"
#endif
#include "try.h"

#include "../library.h"

#ifdef BY_MPI
enum { KEYS = 60, CALLS = 300, BUCKETS = 48, BY_MPI_ALONE = 1 };
#else
enum { KEYS = 300, CALLS = 3000, BUCKETS = 240, BY_MPI_ALONE = 0 };
#endif
enum { MAX = 8 * FH_FAST_WORDS };

static uint8_t key[MAX + 1], value[MAX], seen[2][MAX];
static fh_tally took; // how many calls have taken the fast path
static int expired;   // pairs

static farhash_cache *make(farhash_job *job, farhash_cache_config config, int fast) {
	farhash_cache *cache;
	OK(farhash_cache_new(job, &config, &cache));
	IS(fast, ((fh_handle *)cache)->shape.ranks != 0);
	IS(fast && !BY_MPI_ALONE, ((fh_handle *)cache)->shape.flat != NULL);
	return cache;
}

// is_key says whether a pair is the one of key.
static int is_key(const void *k, size_t key_size, const void *v, size_t value_size, void *unused) {
	return v && value_size && !unused && memcmp(k, key, key_size) == 0;
}

// put_short puts a pair into both caches that expires, and waits until it has: by the clock of
// fastpath.c, and by the one of Go, which then shows no such pair.
static void put_short(farhash_cache *fast, farhash_cache *go) {
	uint8_t result;
	struct timespec begin, now;
	OK(farhash_cache_put_batch_ttl(go, key, 1, value, 1e-9, &result));
	IS(result, farhash_cache_put_ttl(fast, key, value, 1e-9));
	clock_gettime(CLOCK_REALTIME, &begin);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_sec == begin.tv_sec ? now.tv_nsec <= begin.tv_nsec : now.tv_sec < begin.tv_sec);
	while (farhash_cache_range(go, 0, is_key, NULL) || farhash_cache_range(fast, 0, is_key, NULL))
		;
	expired++;
}

static void one_call(farhash_cache *fast, farhash_cache *go, size_t value_size, uint64_t random) {
	uint8_t result = 0;
	int got;
	switch (random % 8) {
	case 0:
		got = farhash_cache_delete(fast, key);
		IS(got, farhash_cache_delete(go, key));
		break;
	case 1: case 2: case 3:
		OK(farhash_cache_put_batch(go, key, 1, value, &result));
		IS(result, farhash_cache_put(fast, key, value));
		break;
	default:
		OK(farhash_cache_get_batch(go, key, 1, seen[0], &result));
		IS(result, farhash_cache_get(fast, key, seen[1]));
		CLAIM(!result || memcmp(seen[0], seen[1], value_size) == 0);
	}
}

static void count(const fh_tally *tallies) {
	for (int i = 0; i < FH_STRIPES; i++) {
		took.hits += tallies[i].hits;
		took.misses += tallies[i].misses;
		took.inserted += tallies[i].inserted;
		took.updated += tallies[i].updated;
	}
}

// same_stats: MPI alone decides how often a bucket is read again.
static void same_stats(const farhash_cache_stats *a, const farhash_cache_stats *b) {
	CLAIM(a->hits == b->hits && a->misses == b->misses);
	CLAIM(a->inserted == b->inserted && a->updated == b->updated && a->evicted == b->evicted);
	CLAIM(a->deletes == b->deletes && a->deleted == b->deleted);
	CLAIM(a->occupied == b->occupied);
	CLAIM(BY_MPI_ALONE || memcmp(a, b, sizeof *a) == 0);
}

static void same(farhash_job *job, farhash_cache_config config) {
	farhash_cache *fast = make(job, config, 1), *go = make(job, config, 1);
	farhash_cache_stats stats[2];
	for (uint64_t i = 0; farhash_job_rank(job) == 0 && i < CALLS; i++) {
		fill(key, config.key_size, 1000 * (mix(i) % KEYS));
		fill(value, config.value_size, 1000 * (mix(i) % 3) + 500);
		if (config.ttl_seconds != 0 && i % (CALLS / 6) == CALLS / 6 - 1)
			put_short(fast, go);
		one_call(fast, go, config.value_size, mix(i) >> 40);
		int32_t rank[2];
		uint64_t bucket[2];
		int there = farhash_cache_locate(go, key, &rank[0], &bucket[0]);
		IS(there, farhash_cache_locate(fast, key, &rank[1], &bucket[1]));
		CLAIM(rank[0] == rank[1] && bucket[0] == bucket[1]);
	}
	OK(farhash_job_barrier(job));
	OK(farhash_cache_all_stats(fast, NULL, &stats[0]));
	OK(farhash_cache_all_stats(go, NULL, &stats[1]));
	same_stats(&stats[0], &stats[1]);
	if (farhash_job_rank(job) == 0)
		count(((fh_handle *)fast)->tallies);
	OK(farhash_cache_check(fast));
	OK(farhash_cache_close(fast));
	OK(farhash_cache_close(go));
}

// pairs_expire: what C puts has the TTL of the cache.
static void pairs_expire(farhash_job *job) {
	farhash_cache *cache = make(job, (farhash_cache_config){.key_size = 8, .value_size = 8,
		.buckets = 24, .ttl_seconds = 1e-9}, 1);
	IS(FARHASH_NEW, farhash_cache_put(cache, key, value)); // by C, since there are empty buckets
	while (farhash_cache_get(cache, key, seen[0]) == FARHASH_HIT)
		;
	OK(farhash_cache_close(cache));
}

static int rank_main(farhash_job *job, void *argument) {
	static const size_t sizes[] = {3, 7, 8, 9, 15, 16, 24, 33, 40, 63, 80, 104, 136, 511, MAX};
	enum { N = sizeof sizes / sizeof *sizes };
	for (size_t i = 0; i < 2 * N; i += BY_MPI_ALONE ? 5 : 1)
		same(job, (farhash_cache_config){.key_size = sizes[i % N],
			.value_size = sizes[(7 * i + 3) % N], .buckets = BUCKETS,
			.group_buckets = i % 9, .choices = i % 4,
			.ttl_seconds = i % 4 == 3 ? 3600 : i % 4 == 2 ? -1 : 0});
	if (farhash_job_size(job) == 1)
		pairs_expire(job);
	farhash_cache_config config = {.key_size = MAX + 1, .value_size = 8, .buckets = 24};
	OK(farhash_cache_close(make(job, config, 0)));
	config.key_size = 8;
	config.mode = FARHASH_FINE;
	OK(farhash_cache_close(make(job, config, 0)));
	return argument != NULL;
}

#ifdef BY_MPI
int main(int argc, char **argv) {
	farhash_options hidden = {.one_sided = 1};
	farhash_job *job;
	int level, rank;
	CLAIM(argc == 2);
	MPI_Init_thread(&argc, &argv, atoi(argv[1]), &level);
	OK(farhash_join_comm(MPI_COMM_WORLD, &hidden, &job));
	rank = farhash_job_rank(job);
	IS(0, rank_main(job, NULL));
	OK(farhash_job_close(job));
	CLAIM(rank > 0 || (took.hits && took.misses && took.inserted && took.updated && expired));
	MPI_Finalize();
	if (rank == 0)
		puts("all is well");
	return 0;
}
#else
int main(void) {
	OK(farhash_run(1, NULL, rank_main, NULL));
	OK(farhash_run(3, NULL, rank_main, NULL));
	CLAIM(took.hits && took.misses && took.inserted && took.updated && expired);
	puts("all is well");
	return 0;
}
#endif
