// The functions of farhash.h about jobs and sets: arguments are checked here, the rest is done
// in Go.

#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

// Go functions take no const.
#define BARE(pointer) ((void *)(uintptr_t)(pointer))

// ---- Jobs ----

int farhash_join(const farhash_options *options, farhash_job **job) {
	NEED(job);
	*job = NULL;
	if (fh_alive() != FARHASH_OK)
		return FARHASH_ERROR_FORKED;
	fh_keep_stacks();
	return goJoin(BARE(options), (fh_handle **)job);
}

int farhash_join_fortran_comm(int32_t comm, const farhash_options *options, farhash_job **job) {
	OUT(job);
	if (fh_alive() != FARHASH_OK)
		return FARHASH_ERROR_FORKED;
	fh_keep_stacks();
	return goJoinComm(comm, BARE(options), (fh_handle **)job);
}

int farhash_run(int32_t ranks, const farhash_options *options,
	int (*function)(farhash_job *job, void *argument), void *argument) {
	NEED(function);
	if (fh_alive() != FARHASH_OK)
		return FARHASH_ERROR_FORKED;
	fh_keep_stacks();
	return goRun(ranks, BARE(options), (void *)function, argument);
}

int farhash_job_rank(farhash_job *job) {
	HANDLE(job, FH_JOB);
	return goJobRank(h->number);
}

int farhash_job_size(farhash_job *job) {
	HANDLE(job, FH_JOB);
	return goJobSize(h->number);
}

int farhash_job_barrier(farhash_job *job) {
	HANDLE(job, FH_JOB);
	return goJobBarrier(h->number);
}

int farhash_job_close(farhash_job *job) {
	HANDLE(job, FH_JOB);
	return goJobClose(h->number);
}

int farhash_exclusive(void (*function)(void *argument), void *argument) {
	NEED(function);
	if (fh_alive() != FARHASH_OK)
		return FARHASH_ERROR_FORKED;
	return goExclusive((void *)function, argument);
}

// ---- Access ----

int farhash_shipping_get(const void *table, farhash_shipping *shipping) {
	const fh_handle *h = table;
	uint32_t kind = h && h->kind > FH_JOB && h->kind <= FH_INDEX ? h->kind : FH_SET;
	if (!fh_usable(h, kind))
		return fh_refuse_handle(h, kind);
	NEED(shipping);
	return goShipping(kind, h->number, shipping);
}

// ---- Sets of words ----

int farhash_set_new(farhash_job *job, const farhash_set_config *config, farhash_set **set) {
	OUT(set);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goSetNew(h->number, BARE(config), (fh_handle **)set);
}

int farhash_set_find_or_put(farhash_set *set, uint64_t word) {
	HANDLE(set, FH_SET);
	return goSetFindOrPut(h->number, word);
}

int farhash_set_contains(farhash_set *set, uint64_t word) {
	HANDLE(set, FH_SET);
	return goSetContains(h->number, word);
}

static int set_batch(farhash_set *set, const uint64_t *words, size_t n, uint8_t *results,
	int put) {
	HANDLE(set, FH_SET);
	if (n == 0)
		return FARHASH_OK;
	NEED(words);
	NEED(results);
	BATCH(n, sizeof *words);
	return goSetBatch(h->number, BARE(words), n, results, put);
}

int farhash_set_find_or_put_batch(farhash_set *set, const uint64_t *words, size_t n,
	uint8_t *results) {
	return set_batch(set, words, n, results, 1);
}

int farhash_set_contains_batch(farhash_set *set, const uint64_t *words, size_t n,
	uint8_t *results) {
	return set_batch(set, words, n, results, 0);
}

int farhash_set_len(farhash_set *set, uint64_t *words) {
	HANDLE(set, FH_SET);
	NEED(words);
	return goSetLen(h->number, words);
}

int farhash_set_buckets(farhash_set *set, uint64_t *buckets) {
	HANDLE(set, FH_SET);
	NEED(buckets);
	*buckets = goSetBuckets(h->number);
	return FARHASH_OK;
}

int farhash_set_stats_get(farhash_set *set, farhash_set_stats *stats) {
	HANDLE(set, FH_SET);
	NEED(stats);
	return goSetStats(h->number, stats);
}

int farhash_set_grow(farhash_set *set, uint64_t buckets) {
	HANDLE(set, FH_SET);
	return goSetGrow(h->number, buckets);
}

int farhash_set_save(farhash_set *set, const char *path) {
	HANDLE(set, FH_SET);
	return goSetSave(h->number, BARE(path));
}

int farhash_set_load(farhash_set *set, const char *path) {
	HANDLE(set, FH_SET);
	return goSetLoad(h->number, BARE(path));
}

int farhash_set_check(farhash_set *set) {
	HANDLE(set, FH_SET);
	return goSetCheck(h->number);
}

int farhash_set_close(farhash_set *set) {
	HANDLE(set, FH_SET);
	return goSetClose(h->number);
}

// ---- Sets of byte strings ----

int farhash_elements_new(farhash_job *job, const farhash_elements_config *config,
	farhash_elements **elements) {
	OUT(elements);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goElementsNew(h->number, BARE(config), (fh_handle **)elements);
}

int farhash_elements_find_or_put(farhash_elements *elements, const void *element) {
	HANDLE(elements, FH_ELEMENTS);
	NEED(element);
	return goElementsFindOrPut(h->number, BARE(element));
}

int farhash_elements_contains(farhash_elements *elements, const void *element) {
	HANDLE(elements, FH_ELEMENTS);
	NEED(element);
	return goElementsContains(h->number, BARE(element));
}

int farhash_elements_find_or_put_batch(farhash_elements *elements, const void *batch, size_t n,
	uint8_t *results, uint64_t *refs) {
	HANDLE(elements, FH_ELEMENTS);
	if (n == 0)
		return FARHASH_OK;
	NEED(batch);
	NEED(results);
	BATCH(n, h->bytes);
	return goElementsPutBatch(h->number, BARE(batch), n, results, refs);
}

int farhash_elements_contains_batch(farhash_elements *elements, const void *batch, size_t n,
	uint8_t *results) {
	HANDLE(elements, FH_ELEMENTS);
	if (n == 0)
		return FARHASH_OK;
	NEED(batch);
	NEED(results);
	BATCH(n, h->bytes);
	return goElementsContainsBatch(h->number, BARE(batch), n, results);
}

int farhash_elements_get(farhash_elements *elements, uint64_t ref, void *element) {
	HANDLE(elements, FH_ELEMENTS);
	NEED(element);
	return goElementsGet(h->number, ref, element);
}

int farhash_elements_len(farhash_elements *elements, uint64_t *n) {
	HANDLE(elements, FH_ELEMENTS);
	NEED(n);
	return goElementsLen(h->number, n);
}

int farhash_elements_buckets(farhash_elements *elements, uint64_t *buckets) {
	HANDLE(elements, FH_ELEMENTS);
	NEED(buckets);
	*buckets = goElementsBuckets(h->number);
	return FARHASH_OK;
}

int farhash_elements_stats_get(farhash_elements *elements, farhash_set_stats *stats) {
	HANDLE(elements, FH_ELEMENTS);
	NEED(stats);
	return goElementsStats(h->number, stats);
}

int farhash_elements_grow(farhash_elements *elements, uint64_t buckets, uint64_t capacity) {
	HANDLE(elements, FH_ELEMENTS);
	return goElementsGrow(h->number, buckets, capacity);
}

int farhash_elements_save(farhash_elements *elements, const char *path) {
	HANDLE(elements, FH_ELEMENTS);
	return goElementsSave(h->number, BARE(path));
}

int farhash_elements_load(farhash_elements *elements, const char *path) {
	HANDLE(elements, FH_ELEMENTS);
	return goElementsLoad(h->number, BARE(path));
}

int farhash_elements_check(farhash_elements *elements) {
	HANDLE(elements, FH_ELEMENTS);
	return goElementsCheck(h->number);
}

int farhash_elements_close(farhash_elements *elements) {
	HANDLE(elements, FH_ELEMENTS);
	return goElementsClose(h->number);
}
