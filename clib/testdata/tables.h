// Trials of the tables, by a job of any size. Each is called by all ranks.

#ifndef TABLES_H
#define TABLES_H

#include "try.h"

// try_set has all ranks put the same words: each is inserted by exactly one of them.
static inline void try_set(farhash_job *job, const char *path) {
	enum { N = 5000 };
	int size = farhash_job_size(job);
	uint64_t words[N], len = 0, buckets = 0;
	uint8_t results[N];
	farhash_set *set, *other;
	farhash_set_config config = {.buckets = 1 << 13};
	OK(farhash_set_new(job, &config, &set));
	for (int i = 0; i < N; i++)
		words[i] = mix(i) >> 1;
	if (farhash_job_rank(job) == 0) {
		IS(FARHASH_NOT_FOUND, farhash_set_contains(set, words[0]));
		IS(FARHASH_INSERTED, farhash_set_find_or_put(set, words[0]));
		IS(FARHASH_FOUND, farhash_set_find_or_put(set, words[0]));
	}
	OK(farhash_job_barrier(job));
	IS(FARHASH_FOUND, farhash_set_contains(set, words[0]));
	OK(farhash_set_find_or_put_batch(set, words, N, results));
	IS(FARHASH_FOUND, results[0]);
	uint64_t inserted = 0;
	for (int i = 0; i < N; i++)
		inserted += results[i] == FARHASH_INSERTED;
	OK(farhash_job_barrier(job));
	OK(farhash_set_len(set, &len));
	IS(N, len);
	farhash_set_stats stats;
	OK(farhash_set_stats_get(set, &stats));
	IS(inserted + (farhash_job_rank(job) == 0), stats.inserted);
	OK(farhash_set_contains_batch(set, words, N, results));
	for (int i = 0; i < N; i++)
		IS(FARHASH_FOUND, results[i]);
	OK(farhash_set_check(set));
	OK(farhash_set_grow(set, 1 << 15));
	OK(farhash_set_buckets(set, &buckets));
	CLAIM(buckets >= 1 << 15);
	OK(farhash_set_save(set, path));
	config.buckets = 64 * size;
	OK(farhash_set_new(job, &config, &other));
	OK(farhash_set_load(other, path));
	OK(farhash_set_len(other, &len));
	IS(N, len);
	OK(farhash_set_check(other));
	OK(farhash_set_close(other));
	OK(farhash_set_close(set));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_set_contains(set, 1));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_set_close(set));
}

// try_full fills a small set.
static inline void try_full(farhash_job *job) {
	enum { N = 4096 };
	uint64_t words[N];
	uint8_t results[N];
	farhash_set *set;
	farhash_set_config config = {.buckets = 64, .chunk = 8, .chunks = 2};
	OK(farhash_set_new(job, &config, &set));
	for (int i = 0; i < N; i++)
		words[i] = mix(i) >> 1;
	FAILS(FARHASH_ERROR_FULL, "full", farhash_set_find_or_put_batch(set, words, N, results));
	int full = 0;
	for (int i = 0; i < N; i++)
		full += results[i] == FARHASH_FULL;
	CLAIM(full > 0 && full < N);
	OK(farhash_job_barrier(job));
	OK(farhash_set_check(set));
	OK(farhash_set_close(set));
}

static inline void try_elements(farhash_job *job, const char *path) {
	enum { N = 1000, BYTES = 21 };
	static _Thread_local uint8_t batch[N * BYTES], element[BYTES], results[N];
	static _Thread_local uint64_t refs[N];
	uint64_t len = 0;
	farhash_elements *set, *other;
	farhash_elements_config config = {.set.buckets = 1 << 12, .element_bytes = BYTES};
	OK(farhash_elements_new(job, &config, &set));
	for (int i = 0; i < N; i++)
		fill(batch + i * BYTES, BYTES, 100 * i);
	OK(farhash_elements_find_or_put_batch(set, batch, N, results, refs));
	OK(farhash_job_barrier(job));
	OK(farhash_elements_len(set, &len));
	IS(N, len);
	IS(FARHASH_FOUND, farhash_elements_find_or_put(set, batch + 7 * BYTES));
	IS(FARHASH_FOUND, farhash_elements_contains(set, batch + 8 * BYTES));
	fill(element, BYTES, 1);
	IS(FARHASH_NOT_FOUND, farhash_elements_contains(set, element));
	OK(farhash_elements_grow(set, 1 << 13, 0));
	for (int i = 0; i < N; i++) {
		OK(farhash_elements_get(set, refs[i], element));
		CLAIM(memcmp(element, batch + i * BYTES, BYTES) == 0);
	}
	OK(farhash_elements_find_or_put_batch(set, batch, N, results, NULL));
	OK(farhash_elements_contains_batch(set, batch, N, results));
	for (int i = 0; i < N; i++)
		IS(FARHASH_FOUND, results[i]);
	FAILS(FARHASH_ERROR_ARGUMENT, "", farhash_elements_get(set, UINT64_MAX, element));
	OK(farhash_elements_check(set));
	OK(farhash_elements_save(set, path));
	OK(farhash_elements_new(job, &config, &other));
	OK(farhash_elements_load(other, path));
	OK(farhash_elements_len(other, &len));
	IS(N, len);
	OK(farhash_elements_close(other));
	OK(farhash_elements_close(set));
}

// add is for farhash_cache_update.
static inline int add(void *value, int found, void *argument) {
	uint64_t n;
	(void)found;
	memcpy(&n, value, sizeof n);
	n += *(uint64_t *)argument;
	memcpy(value, &n, sizeof n);
	return *(uint64_t *)argument != 0;
}

// try_cache_of has each rank put keys that another one gets: one by one and in batches, at
// addresses of any alignment.
static inline void try_cache_of(farhash_job *job, farhash_cache_config config, const char *path) {
	enum { N = 400 };
	int rank = farhash_job_rank(job), size = farhash_job_size(job);
	size_t ks = config.key_size, vs = config.value_size;
	char *memory = malloc(1 + N * (ks + 2 * vs)), *keys = memory + 1, *values = keys + N * ks,
		*seen = values + N * vs;
	uint8_t hits[N], results[N];
	farhash_cache *cache, *other;
	config.buckets_per_rank = 4096;
	OK(farhash_cache_new(job, &config, &cache));
	for (int i = 0; i < N; i++) {
		fill(keys + i * ks, ks, 1000 * (i + N * rank));
		fill(values + i * vs, vs, 1000 * (i + N * rank) + 500);
	}
	OK(farhash_cache_get_batch(cache, keys, N, seen, hits));
	for (int i = 0; i < N; i++)
		IS(FARHASH_MISS, hits[i]);
	for (int i = 0; i < N / 2; i++) {
		IS(FARHASH_MISS, farhash_cache_get(cache, keys + i * ks, seen));
		int put = farhash_cache_put(cache, keys + i * ks, values + i * vs);
		CLAIM(put == FARHASH_NEW || put == FARHASH_EVICTED);
		put = farhash_cache_put(cache, keys + i * ks, values + i * vs);
		CLAIM(put == FARHASH_UPDATED || (size > 1 && put > 0)); // another rank's put took its bucket
	}
	OK(farhash_cache_put_batch(cache, keys, N, values, results));
	for (int i = 0; i < N; i++)
		CLAIM(results[i] == (i < N / 2 ? FARHASH_UPDATED : FARHASH_NEW) ||
			results[i] == FARHASH_EVICTED || (size > 1 && results[i] > 0));
	OK(farhash_job_barrier(job));
	int next = (rank + 1) % size; // whose keys are gotten
	for (int i = 0; i < N; i++) {
		fill(keys + i * ks, ks, 1000 * (i + N * next));
		fill(values + i * vs, vs, 1000 * (i + N * next) + 500);
	}
	uint64_t hit = 0;
	OK(farhash_cache_get_batch(cache, keys, N, seen, hits));
	for (int i = 0; i < N; i++) {
		hit += hits[i];
		CLAIM(!hits[i] || memcmp(seen + i * vs, values + i * vs, vs) == 0);
	}
	CLAIM(hit > N * 9 / 10);
	for (int i = 0; i < N; i++) {
		IS(hits[i], farhash_cache_get(cache, keys + i * ks, seen));
		CLAIM(!hits[i] || memcmp(seen, values + i * vs, vs) == 0);
	}
	farhash_cache_stats mine, total, *all = calloc(size, sizeof *all);
	OK(farhash_cache_stats_get(cache, &mine));
	IS(2 * hit, mine.hits);
	IS(N / 2 + N, mine.inserted + mine.updated + mine.evicted - N / 2);
	OK(farhash_cache_all_stats(cache, all, &total));
	IS(mine.hits, all[rank].hits);
	IS(mine.inserted, all[rank].inserted);
	uint64_t occupied = 0, hits_of_all = 0;
	for (int r = 0; r < size; r++)
		occupied += all[r].occupied, hits_of_all += all[r].hits;
	IS(occupied, total.occupied);
	IS(hits_of_all, total.hits);
	// Puts that overlap may choose the same bucket.
	CLAIM(occupied <= total.inserted && occupied > total.inserted * 9 / 10);
	OK(farhash_cache_check(cache));
	OK(farhash_cache_save(cache, path));
	OK(farhash_cache_new(job, &config, &other));
	OK(farhash_cache_load(other, path));
	OK(farhash_job_barrier(job));
	hit = 0;
	for (int i = 0; i < N; i++) {
		int there = farhash_cache_get(other, keys + i * ks, seen);
		CLAIM(there >= 0 && (!there || memcmp(seen, values + i * vs, vs) == 0));
		hit += there;
	}
	CLAIM(hit > N * 9 / 10);
	OK(farhash_cache_close(other));
	OK(farhash_cache_stats_reset(cache));
	OK(farhash_cache_stats_get(cache, &mine));
	IS(0, mine.hits + mine.inserted + mine.updated);
	OK(farhash_job_barrier(job));
	if (rank == 0 && hits[0]) {
		IS(FARHASH_HIT, farhash_cache_delete(cache, keys));
		IS(FARHASH_MISS, farhash_cache_delete(cache, keys));
		IS(FARHASH_MISS, farhash_cache_get(cache, keys, seen));
	}
	if (rank == 0 && vs >= 8) {
		uint64_t one = 1, zero = 0, n;
		fill(keys, ks, 7);
		IS(0, farhash_cache_update(cache, keys, add, &zero));
		IS(FARHASH_MISS, farhash_cache_get(cache, keys, seen));
		CLAIM(farhash_cache_update(cache, keys, add, &one) > 0);
		IS(FARHASH_UPDATED, farhash_cache_update(cache, keys, add, &one));
		IS(FARHASH_HIT, farhash_cache_get(cache, keys, seen));
		memcpy(&n, seen, sizeof n);
		IS(2, n);
	}
	OK(farhash_cache_close(cache));
	free(all);
	free(memory);
}

static inline void try_cache(farhash_job *job, const char *path) {
	static const uint64_t sizes[][2] = {{80, 104}, {8, 8}, {4, 4}, {5, 1}, {13, 520}, {600, 9}};
	for (int i = 0; i < 6; i++)
		for (int mode = FARHASH_LOCK_FREE; mode <= (i == 0 ? FARHASH_COARSE : 0); mode++)
			try_cache_of(job, (farhash_cache_config){.key_size = sizes[i][0],
				.value_size = sizes[i][1], .mode = mode}, path);
}

static inline void try_tables(farhash_job *job, const char *directory) {
	char path[4096];
	snprintf(path, sizeof path, "%s/table", directory);
	try_set(job, path);
	try_full(job);
	try_elements(job, path);
	try_cache(job, path);
}

#endif
