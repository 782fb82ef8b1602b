/* The cache of farhash by its own interface, one operation at a time or in batches. */
#include <farhash_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

const char *const table_mode = "library";
const int table_threads = MPI_THREAD_MULTIPLE; /* as docs/c.md has it: batches are shipped */

static farhash_job *job;
static farhash_cache *cache;

static void must(int code)
{
	if (code >= 0)
		return;
	fprintf(stderr, "library: %s\n", farhash_last_error());
	MPI_Abort(MPI_COMM_WORLD, 1);
}

void table_open(uint64_t buckets)
{
	if (!job)
		must(farhash_join_comm(MPI_COMM_WORLD, NULL, &job));
	must(farhash_cache_new(job, &(farhash_cache_config){
		.key_size = sizeof((operation *)0)->key, .value_size = sizeof((operation *)0)->value,
		.buckets = buckets * (uint64_t)farhash_job_size(job)}, &cache));
}

void table_close(void)
{
	MPI_Barrier(MPI_COMM_WORLD); /* nobody works on the buckets */
	must(farhash_cache_close(cache));
}

void table_end(void)
{
	must(farhash_job_close(job));
}

static void one_by_one(operation *all, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++)
		if (all[i].put)
			must(farhash_cache_put(cache, all[i].key, all[i].value));
		else
			must(all[i].found = farhash_cache_get(cache, all[i].key, all[i].value));
}

/* kind_of does the gets or the puts of a batch. */
static void kind_of(operation *all, int n, int puts, uint64_t *keys, uint64_t *values,
	uint8_t *results)
{
	int count = 0;
	for (int i = 0; i < n; i++) {
		if (all[i].put != puts)
			continue;
		memcpy(keys + count * KEY_WORDS, all[i].key, sizeof all[i].key);
		if (puts)
			memcpy(values + count * VALUE_WORDS, all[i].value, sizeof all[i].value);
		count++;
	}
	if (puts) {
		must(farhash_cache_put_batch(cache, keys, count, values, results));
		return;
	}
	must(farhash_cache_get_batch(cache, keys, count, values, results));
	for (int i = 0, at = 0; i < n; i++)
		if (!all[i].put) {
			all[i].found = results[at];
			memcpy(all[i].value, values + at++ * VALUE_WORDS, sizeof all[i].value);
		}
}

static void in_batches(operation *all, uint64_t operations)
{
	uint64_t *keys = malloc(batch * sizeof all->key), *values = malloc(batch * sizeof all->value);
	uint8_t *results = malloc(batch);
	for (uint64_t from = 0; from < operations; from += batch) {
		int n = operations - from < (uint64_t)batch ? (int)(operations - from) : batch;
		kind_of(all + from, n, 0, keys, values, results);
		kind_of(all + from, n, 1, keys, values, results);
	}
	free(results);
	free(values);
	free(keys);
}

void table_work(operation *all, uint64_t operations)
{
	farhash_cache_stats before, after;
	must(farhash_cache_stats_get(cache, &before));
	(batch == 1 ? one_by_one : in_batches)(all, operations);
	must(farhash_job_barrier(job)); /* a rank that waits in MPI_Barrier slows down the others */
	must(farhash_cache_stats_get(cache, &after));
	mismatches = after.mismatches - before.mismatches;
}
