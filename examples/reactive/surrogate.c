/* The cache in front of the chemistry.
 *
 * The nine species of a cell are rounded to so many significant digits: they and the length of
 * the time step are the key, 10 doubles. The value is what the chemistry says of exactly these
 * rounded numbers, 13 doubles. So a result is the same whoever has computed it, and whether it
 * was found or not: a run gives the same bits on any number of ranks. What is found are
 * changes, which are added to the cell as it is, without rounding: rounding makes reactions go
 * a little too far or not far enough, but elements are conserved.
 *
 * A rank looks up all of its cells by one call, integrates what is missing, equal keys once,
 * and stores that by one call.
 */
#include "reactive.h"

#include <farhash_mpi.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = SPECIES + 1 };

/* Water holds some mmol per litre of everything that matters: what is less than the last digit of
 * that is nothing. Else the traces that run ahead of a front would make every cell a new one. */
#define USUAL 1e-3

struct surrogate {
	int digits;
	int32_t rounding[KEY]; /* digits of each number of a key */
	double traces;
	farhash_job *job;
	farhash_cache *cache;
	chemistry *chemistry;
	double *keys;           /* of the cells */
	double *fresh, *values; /* keys that are not in the cache yet, and their values */
	const double **missing; /* those keys of cells */
	uint8_t *hits;
	surrogate_stats stats;
};

static void must(int code, const char *what)
{
	if (code < 0)
		fail(what, farhash_last_error());
}

surrogate *surrogate_new(int digits, uint64_t buckets, size_t cells)
{
	int ranks;
	surrogate *s = calloc(1, sizeof *s);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!s || !(s->chemistry = chemistry_new()))
		fail("chemistry", "no memory for CVODE");
	s->digits = digits;
	s->traces = USUAL * pow(10, -digits);
	/* Minerals have a digit less: how much there is sets the pace only, not where it ends. */
	for (int i = 0; i < SPECIES; i++)
		s->rounding[i] = i < SOLUTES || digits == 1 ? digits : digits - 1;
	if (digits == EXACT)
		return s;
	s->keys = malloc(cells * KEY * sizeof(double));
	s->fresh = malloc(cells * KEY * sizeof(double));
	s->values = malloc(cells * RESULTS * sizeof(double));
	s->hits = malloc(cells);
	s->missing = malloc(cells * sizeof *s->missing);
	if (cells && (!s->keys || !s->fresh || !s->values || !s->hits || !s->missing))
		fail("surrogate", "no memory for the keys and values of a time step");
	farhash_cache_config config = {.key_size = KEY * sizeof(double),
		.value_size = RESULTS * sizeof(double), .buckets = buckets};
	must(farhash_join_comm(MPI_COMM_WORLD, NULL, &s->job), "job");
	must(farhash_cache_new(s->job, &config, &s->cache), "cache");
	return s;
}

void surrogate_free(surrogate *s)
{
	if (s->job)
		must(farhash_job_close(s->job), "job");
	chemistry_free(s->chemistry);
	free(s->keys);
	free(s->fresh);
	free(s->values);
	free(s->hits);
	free(s->missing);
	free(s);
}

static void integrate(surrogate *s, const double *cell, double seconds, double *results)
{
	s->stats.computed++;
	if (chemistry_react(s->chemistry, cell, seconds, results))
		fail("chemistry", "the state of a cell makes no sense; give more digits");
}

static int by_key(const void *a, const void *b)
{
	return memcmp(*(double *const *)a, *(double *const *)b, KEY * sizeof(double));
}

/* make_keys rounds the species, and leaves the time step as it is: 0 digits. */
static void make_keys(surrogate *s, const double *cells, size_t n, double seconds)
{
	for (size_t i = 0; i < n; i++) {
		double *key = s->keys + i * KEY;
		memcpy(key, cells + i * SPECIES, SPECIES * sizeof(double));
		key[SPECIES] = seconds;
		must(farhash_round(key, KEY, s->rounding, KEY, &s->traces, 1), "rounding");
	}
}

/* compute_missing integrates what the cache has not, and puts it there. */
static void compute_missing(surrogate *s, size_t n, double seconds, double *results)
{
	size_t missing = 0, distinct = 0;
	for (size_t i = 0; i < n; i++)
		if (s->hits[i] == FARHASH_MISS)
			s->missing[missing++] = s->keys + i * KEY;
	qsort(s->missing, missing, sizeof *s->missing, by_key);
	for (size_t m = 0; m < missing; m++) {
		size_t i = (s->missing[m] - s->keys) / KEY;
		if (m == 0 || by_key(&s->missing[m - 1], &s->missing[m]) != 0) {
			memcpy(s->fresh + distinct * KEY, s->missing[m], KEY * sizeof(double));
			integrate(s, s->missing[m], seconds, s->values + distinct++ * RESULTS);
		} else
			s->stats.same++;
		memcpy(results + i * RESULTS, s->values + (distinct - 1) * RESULTS,
			RESULTS * sizeof(double));
	}
	must(farhash_cache_put_batch(s->cache, s->fresh, distinct, s->values, s->hits), "put");
}

void surrogate_react(surrogate *s, const double *cells, size_t n, double seconds,
	double *results)
{
	s->stats.cells += n;
	if (s->digits == EXACT) {
		for (size_t i = 0; i < n; i++)
			integrate(s, cells + i * SPECIES, seconds, results + i * RESULTS);
		return;
	}
	make_keys(s, cells, n, seconds);
	must(farhash_cache_get_batch(s->cache, s->keys, n, results, s->hits), "get");
	compute_missing(s, n, seconds, results);
}

surrogate_stats surrogate_sum(surrogate *s)
{
	farhash_cache_stats total = {0};
	if (s->cache)
		must(farhash_cache_all_stats(s->cache, NULL, &total), "statistics");
	uint64_t mine[] = {s->stats.cells, s->stats.same, s->stats.computed}, all[3];
	MPI_Allreduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return (surrogate_stats){all[0], total.hits, all[1], all[2], total.evicted};
}
