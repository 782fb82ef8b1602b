// The functions of farhash.h about caches: as api.c, with the fast path.

#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

#define BARE(pointer) ((void *)(uintptr_t)(pointer))

int farhash_cache_new(farhash_job *job, const farhash_cache_config *config,
	farhash_cache **cache) {
	OUT(cache);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goCacheNew(h->number, BARE(config), (fh_handle **)cache);
}

int farhash_cache_get(farhash_cache *cache, const void *key, void *value) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(value);
	int seen = h->shape.flat ? fh_fast_get(h, key, value) : FH_UNKNOWN;
	return seen != FH_UNKNOWN ? seen : goCacheGet(h->number, BARE(key), value);
}

int farhash_cache_put(farhash_cache *cache, const void *key, const void *value) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(value);
	int done = h->shape.flat ? fh_fast_put(h, key, value) : FH_UNKNOWN;
	return done != FH_UNKNOWN ? done : goCachePut(h->number, BARE(key), BARE(value));
}

int farhash_cache_delete(farhash_cache *cache, const void *key) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	return goCacheDelete(h->number, BARE(key));
}

int farhash_cache_get_batch(farhash_cache *cache, const void *keys, size_t n, void *values,
	uint8_t *hits) {
	HANDLE(cache, FH_CACHE);
	if (n == 0)
		return FARHASH_OK;
	NEED(keys);
	NEED(values);
	NEED(hits);
	BATCH(n, h->bytes + h->more);
	return goCacheGetBatch(h->number, BARE(keys), n, values, hits);
}

int farhash_cache_put_batch(farhash_cache *cache, const void *keys, size_t n,
	const void *values, uint8_t *results) {
	HANDLE(cache, FH_CACHE);
	if (n == 0)
		return FARHASH_OK;
	NEED(keys);
	NEED(values);
	NEED(results);
	BATCH(n, h->bytes + h->more);
	return goCachePutBatch(h->number, BARE(keys), n, BARE(values), results);
}

int farhash_cache_update(farhash_cache *cache, const void *key,
	int (*function)(void *value, int found, void *argument), void *argument) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(function);
	return goCacheUpdate(h->number, BARE(key), (void *)function, argument);
}

int farhash_cache_stats_get(farhash_cache *cache, farhash_cache_stats *stats) {
	HANDLE(cache, FH_CACHE);
	NEED(stats);
	return goCacheStats(h->number, stats);
}

int farhash_cache_all_stats(farhash_cache *cache, farhash_cache_stats *ranks,
	farhash_cache_stats *total) {
	HANDLE(cache, FH_CACHE);
	return goCacheAllStats(h->number, ranks, total);
}

int farhash_cache_buckets(farhash_cache *cache, uint64_t *buckets) {
	HANDLE(cache, FH_CACHE);
	NEED(buckets);
	*buckets = goCacheBuckets(h->number);
	return FARHASH_OK;
}

int farhash_cache_save(farhash_cache *cache, const char *path) {
	HANDLE(cache, FH_CACHE);
	return goCacheSave(h->number, BARE(path));
}

int farhash_cache_load(farhash_cache *cache, const char *path) {
	HANDLE(cache, FH_CACHE);
	return goCacheLoad(h->number, BARE(path));
}

int farhash_cache_check(farhash_cache *cache) {
	HANDLE(cache, FH_CACHE);
	return goCacheCheck(h->number);
}

int farhash_cache_close(farhash_cache *cache) {
	HANDLE(cache, FH_CACHE);
	return goCacheClose(h->number);
}

int farhash_round(double *values, size_t n, const int32_t *digits, size_t n_digits,
	const double *floors, size_t n_floors) {
	if (fh_alive() != FARHASH_OK)
		return FARHASH_ERROR_FORKED;
	if (n == 0)
		return FARHASH_OK;
	NEED(values);
	if (n_digits > 0)
		NEED(digits);
	if (n_floors > 0)
		NEED(floors);
	BATCH(n, sizeof *values);
	BATCH(n_digits, sizeof *digits);
	BATCH(n_floors, sizeof *floors);
	return goRound(values, n, BARE(digits), n_digits, BARE(floors), n_floors);
}

int farhash_cache_locate(farhash_cache *cache, const void *key, int32_t *rank, uint64_t *bucket) {
	NEED(rank);
	NEED(bucket);
	*rank = -1;
	*bucket = UINT64_MAX;
	HANDLE(cache, FH_CACHE);
	NEED(key);
	return goCacheLocate(h->number, BARE(key), rank, bucket);
}

int farhash_cache_put_located(farhash_cache *cache, const void *key, const void *value,
	int32_t *rank, uint64_t *bucket) {
	NEED(rank);
	NEED(bucket);
	*rank = -1;
	*bucket = UINT64_MAX;
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(value);
	return goCachePutLocated(h->number, BARE(key), BARE(value), rank, bucket);
}

int farhash_cache_get_at(farhash_cache *cache, int32_t rank, uint64_t bucket, void *key,
	void *value) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(value);
	return goCacheGetAt(h->number, rank, bucket, key, value);
}

int farhash_cache_range(farhash_cache *cache, int local, int (*function)(const void *key,
	size_t key_size, const void *value, size_t value_size, void *argument), void *argument) {
	HANDLE(cache, FH_CACHE);
	NEED(function);
	return goCacheRange(h->number, local, (void *)function, argument);
}

int farhash_cache_len(farhash_cache *cache, uint64_t *keys) {
	HANDLE(cache, FH_CACHE);
	NEED(keys);
	return goCacheLen(h->number, keys);
}

int farhash_cache_clear(farhash_cache *cache) {
	HANDLE(cache, FH_CACHE);
	return goCacheClear(h->number);
}

int farhash_cache_used(farhash_cache *cache, double *used) {
	HANDLE(cache, FH_CACHE);
	return goCacheUsed(h->number, used);
}
