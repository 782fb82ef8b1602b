/* The cache of farhash by its own interface, one operation at a time or in batches. */
#include <farhash_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

const char *table_mode = "library";
const int table_threads = MPI_THREAD_MULTIPLE; /* as docs/c.md has it: batches are shipped */

static farhash_job *job;
static farhash_cache *cache;

static int must(int code)
{
	if (code >= 0)
		return code;
	fprintf(stderr, "library: %s\n", farhash_last_error());
	return MPI_Abort(MPI_COMM_WORLD, 1);
}

int table_choose(const char *protocol)
{
	return strcmp(protocol, "lock-free") == 0;
}

void table_open(uint64_t buckets)
{
	if (!job)
		must(farhash_join_comm(MPI_COMM_WORLD, NULL, &job));
	must(farhash_cache_new(job, &(farhash_cache_config){
		.key_size = KEY_WORDS * sizeof(uint64_t), .value_size = VALUE_WORDS * sizeof(uint64_t),
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

static void one_by_one(const operations *all)
{
	for (uint64_t i = 0; i < all->n; i++)
		if (all->puts[i])
			must(farhash_cache_put(cache, all->keys[i], all->values[i]));
		else
			all->found[i] = must(farhash_cache_get(cache, all->keys[i], all->values[i]));
}

static void in_batches(const operations *all)
{
	uint8_t *results = malloc(batch);
	for (uint64_t at = 0, end; at < all->n; at = end) {
		uint64_t puts = at;
		end = all->n - at < (uint64_t)batch ? all->n : at + batch;
		while (puts < end && !all->puts[puts])
			puts++;
		if (puts > at)
			must(farhash_cache_get_batch(cache, all->keys[at], puts - at, all->values[at],
				all->found + at));
		if (end > puts)
			must(farhash_cache_put_batch(cache, all->keys[puts], end - puts, all->values[puts],
				results));
	}
	free(results);
}

void table_work(const operations *all)
{
	farhash_cache_stats before, after;
	must(farhash_cache_stats_get(cache, &before));
	(batch == 1 ? one_by_one : in_batches)(all);
	must(farhash_job_barrier(job)); /* a rank that waits in MPI_Barrier slows down the others */
	must(farhash_cache_stats_get(cache, &after));
	mismatches = after.mismatches - before.mismatches;
}
