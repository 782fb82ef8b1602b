// Trials of the tables, by a job of any size. Each is called by all ranks.

#ifndef TABLES_H
#define TABLES_H

#include <unistd.h>

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
	OK(farhash_set_buckets(set, &buckets));
	CLAIM(buckets >= 1 << 13);
	OK(farhash_set_save(set, path));
	config.buckets = 64 * size;
	config.max_bytes = 1 << 20; // it grows while it is loaded
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

// try_strings uses strings of 0 to 600 bytes.
static inline void try_strings(farhash_job *job, const char *path) {
	enum { N = 3000, LONGEST = 600 };
	farhash_bytes *set, *other;
	farhash_element *batch = calloc(N, sizeof *batch);
	uint64_t *refs = calloc(N, sizeof *refs), len;
	uint8_t *results = calloc(N, 1), element[LONGEST];
	size_t size;
	farhash_bytes_config config = {.set.max_bytes = 16 << 20};
	OK(farhash_bytes_new(job, &config, &set));
	for (size_t i = 0; i < N; i++) {
		uint8_t *data = calloc(1, LONGEST);
		batch[i] = (farhash_element){data, i == 0 ? 0 : 8 + mix(i) % (LONGEST - 7)};
		fill(data, batch[i].size, i * 1000);
	}
	OK(farhash_bytes_find_or_put_batch(set, batch, N, results, refs));
	OK(farhash_job_barrier(job));
	OK(farhash_bytes_len(set, &len));
	IS(N, len);
	IS(FARHASH_FOUND, farhash_bytes_find_or_put(set, batch[7].data, batch[7].size));
	IS(FARHASH_NOT_FOUND, farhash_bytes_contains(set, batch[7].data, batch[7].size - 1));
	OK(farhash_bytes_contains_batch(set, batch, N, results));
	for (int i = 0; i < N; i++) {
		IS(FARHASH_FOUND, results[i]);
		OK(farhash_bytes_get(set, refs[i], element, sizeof element, &size));
		CLAIM(size == batch[i].size && memcmp(element, batch[i].data, size) == 0);
	}
	FAILS(FARHASH_ERROR_ARGUMENT, "room", farhash_bytes_get(set, refs[7], NULL, 0, &size));
	IS(batch[7].size, size);
	OK(farhash_bytes_get(set, refs[7], element, size, NULL));
	CLAIM(memcmp(element, batch[7].data, size) == 0);
	IS(FARHASH_FOUND, farhash_bytes_contains(set, NULL, 0));
	IS(FARHASH_FOUND, farhash_bytes_find_or_put(set, NULL, 0));
	FAILS(FARHASH_ERROR_ARGUMENT, "farhash_bytes_find_or_put_batch",
		farhash_bytes_find_or_put_packed(set, element, 1, results, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "farhash_bytes_contains_batch",
		farhash_bytes_contains_packed(set, element, 1, results));
	OK(farhash_bytes_element_bytes(set, &len));
	IS(0, len);
	OK(farhash_bytes_check(set));
	OK(farhash_bytes_save(set, path));
	OK(farhash_bytes_new(job, &config, &other));
	OK(farhash_bytes_load(other, path));
	OK(farhash_bytes_len(other, &len));
	IS(N, len);
	OK(farhash_bytes_close(other));
	OK(farhash_bytes_close(set));
	for (int i = 0; i < N; i++)
		free((void *)batch[i].data);
	free(batch), free(refs), free(results);
}

static inline void try_elements(farhash_job *job, const char *path) {
	enum { N = 1000, BYTES = 21 };
	static _Thread_local uint8_t batch[N * BYTES], element[BYTES], results[N];
	static _Thread_local uint64_t refs[N];
	uint64_t len = 0;
	size_t size;
	farhash_bytes *set, *other;
	farhash_bytes_config config = {.set.buckets = 1 << 12, .element_bytes = BYTES};
	OK(farhash_bytes_new(job, &config, &set));
	for (int i = 0; i < N; i++)
		fill(batch + i * BYTES, BYTES, 100 * i);
	OK(farhash_bytes_find_or_put_packed(set, batch, N, results, refs));
	OK(farhash_job_barrier(job));
	OK(farhash_bytes_len(set, &len));
	IS(N, len);
	IS(FARHASH_FOUND, farhash_bytes_find_or_put(set, batch + 7 * BYTES, BYTES));
	IS(FARHASH_FOUND, farhash_bytes_contains(set, batch + 8 * BYTES, BYTES));
	fill(element, BYTES, 1);
	IS(FARHASH_NOT_FOUND, farhash_bytes_contains(set, element, BYTES));
	for (int i = 0; i < N; i++) {
		OK(farhash_bytes_get(set, refs[i], element, BYTES, &size));
		IS(BYTES, size);
		CLAIM(memcmp(element, batch + i * BYTES, BYTES) == 0);
	}
	OK(farhash_bytes_find_or_put_packed(set, batch, N, results, NULL));
	OK(farhash_bytes_contains_packed(set, batch, N, results));
	for (int i = 0; i < N; i++)
		IS(FARHASH_FOUND, results[i]);
	farhash_element list[] = {{batch, BYTES}, {batch + BYTES, BYTES}};
	OK(farhash_bytes_contains_batch(set, list, 2, results));
	IS(FARHASH_FOUND, results[1]);
	OK(farhash_bytes_find_or_put_batch(set, list, 2, results, refs + 2));
	CLAIM(refs[2] == refs[0] && refs[3] == refs[1]);
	list[1].size--;
	FAILS(FARHASH_ERROR_ARGUMENT, "size is 20",
		farhash_bytes_find_or_put_batch(set, list, 2, results, refs));
	FAILS(FARHASH_ERROR_ARGUMENT, "size is 20", farhash_bytes_contains_batch(set, list, 2, results));
	FAILS(FARHASH_ERROR_ARGUMENT, "size is 22; the elements of this set have 21 bytes",
		farhash_bytes_find_or_put(set, batch, BYTES + 1));
	FAILS(FARHASH_ERROR_ARGUMENT, "size is 0", farhash_bytes_contains(set, NULL, 0));
	FAILS(FARHASH_ERROR_ARGUMENT, "room is 20", farhash_bytes_get(set, refs[0], element, 20, &size));
	IS(BYTES, size);
	OK(farhash_bytes_element_bytes(set, &len));
	IS(BYTES, len);
	FAILS(FARHASH_ERROR_ARGUMENT, "", farhash_bytes_get(set, UINT64_MAX, element, BYTES, NULL));
	OK(farhash_bytes_check(set));
	OK(farhash_bytes_save(set, path));
	OK(farhash_bytes_new(job, &config, &other));
	OK(farhash_bytes_load(other, path));
	OK(farhash_bytes_len(other, &len));
	IS(N, len);
	OK(farhash_bytes_close(other));
	OK(farhash_bytes_close(set));
}

// sum adds up the lengths of pairs.
static inline int sum(const void *key, size_t key_size, const void *value, size_t value_size,
	void *argument) {
	CLAIM(key && value);
	*(size_t *)argument += key_size + value_size;
	return 0;
}

static inline int stop_at_once(const void *key, size_t key_size, const void *value,
	size_t value_size, void *argument) {
	return sum(key, key_size, value, value_size, argument) + 7;
}

// try_places has rank 0 use the places of pairs, and then all ranks an empty cache.
static inline void try_places(farhash_job *job, farhash_cache *cache, size_t ks, size_t vs) {
	char *memory = calloc(2, ks + vs), *key = memory, *value = key + ks, *k = value + vs, *v = k + ks;
	size_t bytes = 0, local = 0;
	int32_t rank, again;
	uint64_t bucket, same;
	double used = -1;
	if (farhash_job_rank(job) == 0) {
		fill(key, ks, 9);
		fill(value, vs, 10);
		CLAIM(farhash_cache_put_located(cache, key, value, &rank, &bucket) > 0);
		IS(FARHASH_HIT, farhash_cache_locate(cache, key, &again, &same));
		CLAIM(rank == again && bucket == same);
		IS(FARHASH_HIT, farhash_cache_get_at(cache, rank, bucket, k, v));
		CLAIM(memcmp(k, key, ks) == 0 && memcmp(v, value, vs) == 0);
		OK(farhash_cache_range(cache, 0, sum, &bytes));
		OK(farhash_cache_range(cache, 1, sum, &local));
		CLAIM(local <= bytes && bytes > 0 && bytes % (ks + vs) == 0);
		IS(7, farhash_cache_range(cache, 0, stop_at_once, &bytes));
	}
	OK(farhash_job_barrier(job));
	OK(farhash_cache_used(cache, &used));
	CLAIM(used > 0 && used < 1);
	OK(farhash_cache_len(cache, &same));
	CLAIM(same > 0);
	OK(farhash_job_barrier(job));
	OK(farhash_cache_clear(cache));
	OK(farhash_cache_len(cache, &same));
	IS(0, same);
	OK(farhash_cache_used(cache, &used));
	CLAIM(used == 0);
	bytes = 0;
	OK(farhash_cache_range(cache, 0, sum, &bytes));
	IS(0, bytes);
	free(memory);
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
	config.buckets = 4096 * (uint64_t)size;
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
	try_places(job, cache, ks, vs);
	OK(farhash_cache_close(cache));
	free(all);
	free(memory);
}

// try_ttl has a pair expire, and others stay.
static inline void try_ttl(farhash_job *job) {
	farhash_cache *cache;
	uint64_t keys[] = {1, 2, 3, 4}, seen[4];
	uint8_t results[4];
	farhash_cache_config config = {.key_size = 8, .value_size = 8, .buckets = 64,
		.mode = FARHASH_FINE, .ttl_seconds = -1};
	OK(farhash_cache_new(job, &config, &cache));
	if (farhash_job_rank(job) == 0) {
		IS(FARHASH_NEW, farhash_cache_put(cache, &keys[0], &keys[0]));
		IS(FARHASH_NEW, farhash_cache_put_ttl(cache, &keys[1], &keys[1], 1e-9));
		IS(FARHASH_NEW, farhash_cache_put_ttl(cache, &keys[2], &keys[2], 3600));
		OK(farhash_cache_put_batch_ttl(cache, &keys[3], 1, &keys[3], 1e-9, results));
		while (farhash_cache_get(cache, &keys[1], seen) == FARHASH_HIT ||
			farhash_cache_get(cache, &keys[3], seen) == FARHASH_HIT)
			usleep(1000);
		OK(farhash_cache_get_batch(cache, keys, 4, seen, results));
		CLAIM(results[0] && !results[1] && results[2] && !results[3]);
		IS(FARHASH_NEW, farhash_cache_put_ttl(cache, &keys[1], &keys[1], -1));
		IS(FARHASH_HIT, farhash_cache_get(cache, &keys[1], seen));
	}
	OK(farhash_cache_check(cache));
	OK(farhash_cache_close(cache));
}

static inline void try_cache(farhash_job *job, const char *path) {
	try_ttl(job);
	static const uint64_t sizes[][2] = {{80, 104}, {8, 8}, {4, 4}, {5, 1}, {13, 520}, {600, 9}};
	for (int i = 0; i < 6; i++)
		for (int mode = FARHASH_LOCK_FREE; mode <= (i == 0 ? FARHASH_COARSE : 0); mode++)
			try_cache_of(job, (farhash_cache_config){.key_size = sizes[i][0],
				.value_size = sizes[i][1], .mode = mode, .ttl_seconds = i % 2 * 3600}, path);
}

// try_bad_calls has a batch of gets done that has calls among it which make no sense.
static inline void try_bad_calls(farhash_map *map, farhash_map_call *calls, int n) {
	farhash_map_call good[8];
	memcpy(good, calls, sizeof good);
	calls[1].kind = 6;
	calls[2].key = NULL;
	calls[3].key_size = 9;
	calls[5].value = NULL;
	calls[6].kind = FARHASH_PUT;
	calls[6].value_size = 41;
	for (int i = 0; i < n; i++)
		calls[i].result = 77;
	FAILS(FARHASH_ERROR_ARGUMENT, "call 1: farhash: kind is 6", farhash_map_batch(map, calls, n));
	for (int i = 0; i < n; i++)
		IS(i == 0 || i == 4 || i > 6 ? FARHASH_HIT : FARHASH_ERROR_ARGUMENT, calls[i].result);
	memcpy(calls, good, sizeof good);
}

// try_counters has all ranks add to two counters, one by one and in batches.
static inline void try_counters(farhash_job *job, farhash_map *map) {
	enum { N = 50 };
	int size = farhash_job_size(job);
	int64_t sum = 0, last = 0, deltas[N];
	uint64_t version = 0;
	farhash_map_call calls[N];
	for (int i = 0; i < N; i++) {
		OK(farhash_map_add(map, "sum", 3, i, &sum, &version));
		CLAIM(sum >= last + i && version != 0);
		last = sum;
		deltas[i] = -2;
		calls[i] = (farhash_map_call){.kind = FARHASH_ADD, .key = "down", .key_size = 4,
			.value = &deltas[i]};
	}
	OK(farhash_map_batch(map, calls, N));
	for (int i = 0; i < N; i++)
		CLAIM(calls[i].result == FARHASH_OK && calls[i].version != 0 && deltas[i] < 0 &&
			deltas[i] % 2 == 0);
	OK(farhash_job_barrier(job));
	OK(farhash_map_add(map, "sum", 3, 0, &sum, NULL));
	IS(size * N * (N - 1) / 2, sum);
	OK(farhash_map_add(map, "down", 4, 0, &sum, NULL));
	IS(-2 * N * size, sum);
	OK(farhash_map_put(map, "text", 4, "four", 4, NULL));
	OK(farhash_map_add(map, "sum", 3, 0, NULL, NULL));
	sum = 7;
	FAILS(FARHASH_ERROR_ARGUMENT, "the value has 4 bytes, and a counter has 8",
		farhash_map_add(map, "text", 4, 1, &sum, &version));
	calls[0].key = "text";
	FAILS(FARHASH_ERROR_ARGUMENT, "a counter has 8", farhash_map_batch(map, calls, 1));
	IS(FARHASH_ERROR_ARGUMENT, calls[0].result);
	IS(7, sum);
	OK(farhash_job_barrier(job));
}

// try_map has every rank put keys of its own, one by one and in batches, and all go for one.
static inline void try_map(farhash_job *job, const char *path) {
	enum { N = 300 };
	int rank = farhash_job_rank(job), size = farhash_job_size(job);
	static _Thread_local char keys[N][8], values[N][40], seen[N][40];
	static _Thread_local farhash_map_call calls[N];
	uint64_t len = 0, version = 0, other = 0;
	size_t value_size = 0, bytes = 0;
	farhash_map *map, *loaded;
	farhash_map_config config = {.slots = 1024 * size, .bytes = (1 << 17) * size, .max_key = 8,
		.max_value = 40};
	OK(farhash_map_new(job, &config, &map));
	for (int i = 0; i < N; i++) {
		fill(keys[i], 8, 1000 * (i + N * rank));
		fill(values[i], 40, 1000 * (i + N * rank) + 500);
		calls[i] = (farhash_map_call){.kind = FARHASH_PUT, .key = keys[i], .key_size = 8,
			.value = values[i], .value_size = i % 41};
	}
	OK(farhash_map_put(map, keys[0], 8, values[0], 40, &version));
	CLAIM(version != 0);
	IS(FARHASH_FOUND, farhash_map_put_if_absent(map, keys[0], 8, values[1], 40, &other));
	CLAIM(other == version);
	IS(FARHASH_UPDATED, farhash_map_compare_and_put(map, keys[0], 8, values[1], 40, &version));
	CLAIM(other != version);
	IS(FARHASH_MISS, farhash_map_compare_and_put(map, keys[0], 8, values[2], 40, &other));
	CLAIM(other == version);
	IS(FARHASH_HIT, farhash_map_get(map, keys[0], 8, seen[0], 40, &value_size, &other));
	CLAIM(value_size == 40 && other == version && memcmp(seen[0], values[1], 40) == 0);
	IS(FARHASH_HIT, farhash_map_delete(map, keys[0], 8));
	IS(FARHASH_MISS, farhash_map_delete(map, keys[0], 8));
	IS(FARHASH_MISS, farhash_map_get(map, keys[0], 8, seen[0], 40, &value_size, &other));
	CLAIM(other == 0);
	IS(FARHASH_INSERTED, farhash_map_put_if_absent(map, keys[0], 8, NULL, 0, NULL));
	IS(FARHASH_HIT, farhash_map_get(map, keys[0], 8, NULL, 0, &value_size, NULL));
	CLAIM(value_size == 0);
	OK(farhash_map_batch(map, calls, N));
	for (int i = 0; i < N; i++) {
		CLAIM(calls[i].result == FARHASH_OK && calls[i].version != 0);
		calls[i].kind = FARHASH_GET;
		calls[i].value = seen[i];
		calls[i].room = 40;
	}
	OK(farhash_map_batch(map, calls, N));
	for (int i = 0; i < N; i++) {
		IS(FARHASH_HIT, calls[i].result);
		CLAIM(calls[i].value_size == (size_t)i % 41 &&
			memcmp(seen[i], values[i], calls[i].value_size) == 0);
	}
	calls[3].room = 2;
	FAILS(FARHASH_ERROR_ARGUMENT, "room is 2", farhash_map_batch(map, calls, N));
	IS(FARHASH_HIT, calls[4].result);
	try_bad_calls(map, calls, N);
	OK(farhash_job_barrier(job));
	OK(farhash_map_len(map, &len));
	IS(N * size, len);
	IS(0, farhash_map_range(map, sum, &bytes));
	size_t want = 0;
	for (int i = 0; i < N; i++)
		want += size * (8 + i % 41);
	IS(want, bytes);
	IS(7, farhash_map_range(map, stop_at_once, &bytes));
	OK(farhash_map_check(map));
	OK(farhash_map_save(map, path));
	config.slots = 512 * size;
	OK(farhash_map_new(job, &config, &loaded));
	OK(farhash_map_load(loaded, path));
	bytes = 0;
	IS(0, farhash_map_range(loaded, sum, &bytes));
	IS(want, bytes);
	OK(farhash_job_barrier(job));
	OK(farhash_map_close(loaded));
	for (uint64_t i = 0, n; i < 50; i++) { // a counter of all ranks
		int done;
		version = 0;
		do {
			int there = farhash_map_get(map, "n", 1, &n, sizeof n, NULL, &version);
			CLAIM(there >= 0);
			n = there ? n + 1 : 1;
			done = farhash_map_compare_and_put(map, "n", 1, &n, sizeof n, &version);
			CLAIM(done >= 0);
		} while (!done);
	}
	try_counters(job, map);
	IS(FARHASH_HIT, farhash_map_get(map, "n", 1, &len, sizeof len, NULL, NULL));
	IS(50 * size, len);
	farhash_map_stats stats;
	OK(farhash_map_stats_get(map, &stats));
	CLAIM(stats.calls[FARHASH_GET] > N && stats.calls[FARHASH_COMPARE_AND_PUT] >= 50 &&
		stats.calls[FARHASH_ADD] >= 50);
	OK(farhash_map_close(map));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_map_len(map, &len));
}

// Records of a rank: numbers whose value is their square, with a second one for every tenth.
typedef struct {
	uint64_t from, at, to, key;
	char value[40];
	int again;
} squares;

static inline void square(char value[40], uint64_t key) {
	for (int i = 0; i < 5; i++)
		memcpy(value + 8 * i, &(uint64_t){key * key}, 8);
}

static inline int next_square(const void **key, const void **value, size_t *value_size,
	void *argument) {
	squares *s = argument;
	if (s->at == s->to)
		return 0;
	s->key = s->at;
	square(s->value, s->at);
	*key = &s->key;
	*value = s->value;
	*value_size = s->at % 41;
	s->again = s->at % 10 == 0 && !s->again;
	s->at += !s->again;
	return 1;
}

static inline void count_found(size_t i, const void *value, size_t value_size, void *argument) {
	char want[40];
	square(want, i);
	CLAIM(value_size == i % 41 && memcmp(value, want, value_size) == 0);
	++*(int *)argument;
}

static inline void try_index(farhash_job *job, const char *path) {
	enum { N = 500 };
	int rank = farhash_job_rank(job), size = farhash_job_size(job), found = 0;
	static _Thread_local uint64_t keys[2 * N];
	static _Thread_local char values[2 * N][40];
	static _Thread_local size_t sizes[2 * N];
	static _Thread_local uint32_t counts[2 * N];
	uint64_t len = 0;
	farhash_index *index, *loaded;
	squares s = {.at = N * rank / size, .to = N * (rank + 1) / size};
	char note[5];
	farhash_index_config config = {.key_size = 8, .value_size = 40, .variable = 1, .depth = 16,
		.note = "note"};
	OK(farhash_index_build(job, &config, next_square, &s, &index));
	OK(farhash_index_len(index, &len));
	IS(N + N / 10, len);
	for (int i = 0; i < 2 * N; i++)
		keys[i] = i;
	OK(farhash_index_check(index));
	OK(farhash_index_save(index, path));
	OK(farhash_index_load(job, path, NULL, &loaded));
	OK(farhash_index_note(loaded, note, sizeof note));
	CLAIM(strcmp(note, "note") == 0);
	FAILS(FARHASH_ERROR_ARGUMENT, "room is 4", farhash_index_note(loaded, note, 4));
	OK(farhash_index_get_batch(loaded, keys, 2 * N, values, sizes, counts));
	for (int i = 0; i < 2 * N; i++) {
		char want[40];
		square(want, i);
		IS(i >= N ? 0 : i % 10 == 0 ? 2 : 1, counts[i]);
		CLAIM(i >= N || (sizes[i] == (size_t)i % 41 && memcmp(values[i], want, sizes[i]) == 0));
		IS(counts[i], farhash_index_get(index, &keys[i], values[i], NULL));
	}
	OK(farhash_index_lookup(index, keys, 2 * N, count_found, &found));
	IS(N + N / 10, found);
	OK(farhash_index_close(loaded));
	OK(farhash_index_close(index));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_index_len(index, &len));
}

// try_arrays builds an index of arrays, where ranks have different numbers of records.
static inline void try_arrays(farhash_job *job) {
	enum { N = 300 };
	int rank = farhash_job_rank(job), size = farhash_job_size(job);
	uint64_t keys[N], len = 0, key_size = 0, value_size = 0, value;
	size_t sizes[N], got = 0;
	int32_t variable = -1;
	farhash_index *index;
	farhash_index_config config = {.key_size = 8, .value_size = 8};
	size_t mine = rank == 0 ? N : rank; // rank 0 has 0 to N-1, others N + rank * N and so on
	for (size_t i = 0; i < mine; i++)
		keys[i] = rank == 0 ? i : (uint64_t)(N + rank * N) + i;
	OK(farhash_index_build_batch(job, &config, keys, keys, NULL, mine, &index));
	OK(farhash_index_sizes(index, &key_size, &value_size, &variable));
	CLAIM(key_size == 8 && value_size == 8 && variable == 0);
	OK(farhash_index_len(index, &len));
	IS(N + size * (size - 1) / 2, len);
	OK(farhash_index_check(index));
	for (uint64_t i = 0; i < N; i++) {
		IS(1, farhash_index_get(index, &i, &value, NULL));
		CLAIM(value == i);
	}
	OK(farhash_index_close(index));
	config.variable = 1;
	for (size_t i = 0; i < mine; i++)
		sizes[i] = keys[i] % 9;
	OK(farhash_index_build_batch(job, &config, keys, keys, sizes, mine, &index));
	OK(farhash_index_sizes(index, &key_size, &value_size, &variable));
	IS(1, variable);
	for (uint64_t i = 0; i < N; i++) {
		IS(1, farhash_index_get(index, &i, &value, &got));
		CLAIM(got == i % 9 && memcmp(&value, &i, got) == 0);
	}
	OK(farhash_index_close(index));
}

// try_shipping claims that the others have done what rank 0 has shipped, and nothing else.
// carried is whether the engine carries requests.
static inline void try_shipping(farhash_job *job, const void *table, int access, int carried) {
	farhash_shipping got;
	int rank = farhash_job_rank(job), shipped = carried && access == FARHASH_SHIPPED;
	OK(farhash_shipping_get(table, &got));
	CLAIM(strlen(got.reason) > 0);
	if (rank == 0 && access != FARHASH_AUTO) {
		IS(shipped ? 1 : UINT64_MAX, got.min_batch);
		CLAIM(!carried || strstr(got.reason, shipped ? "shipped, as" : "one-sided, as"));
	}
	if (rank == 0 || access != FARHASH_AUTO)
		IS(rank > 0 && shipped, got.served > 0);
}

// try_access makes the tables with each access but those above last. Rank 0 has it, the others
// have another one.
static inline void try_access(farhash_job *job, int last, int carried) {
	enum { N = 200 };
	uint64_t keys[N], values[N];
	uint32_t counts[N];
	uint8_t results[N], found[N];
	farhash_map_call calls[N];
	farhash_set *set;
	farhash_cache *cache;
	farhash_map *map;
	farhash_index *index;
	int rank = farhash_job_rank(job);
	for (int i = 0; i < N; i++)
		keys[i] = i;
	for (int access = FARHASH_AUTO; access <= last; access++) {
		int own = rank == 0 ? access : FARHASH_AUTO;
		farhash_set_config words = {.buckets = 1 << 12, .access = own};
		farhash_cache_config pairs = {.key_size = 8, .value_size = 8, .buckets = 1 << 14,
			.access = own};
		farhash_map_config dictionary = {.slots = 1 << 14, .bytes = 1 << 19,
			.max_key = 8, .max_value = 8, .access = own};
		farhash_index_config records = {.key_size = 8, .value_size = 8, .access = own};
		OK(farhash_set_new(job, &words, &set));
		OK(farhash_cache_new(job, &pairs, &cache));
		OK(farhash_map_new(job, &dictionary, &map));
		OK(farhash_index_build_batch(job, &records, keys, keys, NULL, rank == 0 ? N : 0, &index));
		if (rank == 0) {
			OK(farhash_set_find_or_put_batch(set, keys, N, results));
			OK(farhash_set_contains_batch(set, keys, N, found));
			for (int i = 0; i < N; i++)
				CLAIM(results[i] == FARHASH_INSERTED && found[i] == FARHASH_FOUND);
			OK(farhash_cache_put_batch(cache, keys, N, keys, results));
			OK(farhash_cache_get_batch(cache, keys, N, values, found));
			int hits = 0;
			for (int i = 0; i < N; i++) {
				CLAIM(!found[i] || values[i] == keys[i]);
				hits += found[i];
			}
			CLAIM(hits > N * 9 / 10); // others have been evicted
			for (int i = 0; i < N; i++)
				calls[i] = (farhash_map_call){.kind = FARHASH_PUT, .key = &keys[i], .key_size = 8,
					.value = &keys[i], .value_size = 8};
			OK(farhash_map_batch(map, calls, N));
			OK(farhash_map_check(map));
			OK(farhash_index_get_batch(index, keys, N, values, NULL, counts));
			for (int i = 0; i < N; i++)
				CLAIM(counts[i] == 1 && values[i] == keys[i]);
		}
		OK(farhash_job_barrier(job));
		const void *tables[] = {set, cache, map, index};
		for (int i = 0; i < 4; i++)
			try_shipping(job, tables[i], access, carried);
		OK(farhash_index_close(index));
		OK(farhash_map_close(map));
		OK(farhash_cache_close(cache));
		OK(farhash_set_close(set));
	}
}

static inline void try_tables(farhash_job *job, const char *directory) {
	static const struct {
		const char *name;
		void (*try)(farhash_job *job, const char *path);
	} saved[] = {{"set", try_set}, {"elements", try_elements}, {"strings", try_strings},
		{"cache", try_cache}, {"map", try_map}, {"index", try_index}};
	for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
		char path[4096]; // no table replaces the file of another kind
		snprintf(path, sizeof path, "%s/%s", directory, saved[i].name);
		saved[i].try(job, path);
	}
	try_full(job);
	try_arrays(job);
}

#endif
