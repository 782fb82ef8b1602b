/* What many threads, or many processes, have seen: sorts out numbers that come twice.
 *
 *   cc threads.c -I$PREFIX/include -L$PREFIX/lib -lfarhash -Wl,-rpath,$PREFIX/lib
 *   ./a.out                            four ranks that are threads
 *   mpirun -n 4 ./a.out                the same as processes: nothing has to change
 */
#include <farhash.h>
#include <stdio.h>

enum { NUMBERS = 1 << 20, BATCH = 1024 };

static int rank_main(farhash_job *job, void *unused)
{
	farhash_set *seen;
	farhash_set_config config = {.buckets = 1 << 20};
	uint64_t words[BATCH], len;
	uint8_t results[BATCH];
	long mine = 0;

	(void)unused;
	if (farhash_set_new(job, &config, &seen) < 0)
		return 1;
	for (uint64_t from = 0; from < NUMBERS; from += BATCH) {
		for (uint64_t i = 0; i < BATCH; i++)
			words[i] = (from + i) * (from + i) % 1000003;
		if (farhash_set_find_or_put_batch(seen, words, BATCH, results) < 0)
			return 1;
		for (int i = 0; i < BATCH; i++)
			mine += results[i] == FARHASH_INSERTED;
	}
	if (farhash_job_barrier(job) < 0 || farhash_set_len(seen, &len) < 0)
		return 1;
	printf("rank %d was the first to see %ld of %llu numbers\n", farhash_job_rank(job), mine,
		(unsigned long long)len);
	return 0;
}

int main(void)
{
	if (farhash_run(4, NULL, rank_main, NULL) == 0)
		return 0;
	fprintf(stderr, "%s\n", farhash_last_error());
	return 1;
}
