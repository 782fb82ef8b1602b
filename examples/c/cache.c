/* A simulation whose ranks share results: each reads the cache before it computes.
 *
 *   mpicc cache.c -I$PREFIX/include -L$PREFIX/lib -lfarhash-openmpi -lm -Wl,-rpath,$PREFIX/lib
 *   mpirun -n 4 ./a.out
 */
#include <farhash_mpi.h>
#include <math.h>
#include <stdio.h>

enum { CELLS = 20000, STEPS = 5, INPUTS = 3, OUTPUTS = 2 };

/* must ends the program if a call has failed, and returns its answer if not. */
static int must(int code)
{
	if (code < 0) {
		fprintf(stderr, "%s\n", farhash_last_error());
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return code;
}

/* Imagine something that takes long. */
static void simulate(const double *input, double *output)
{
	output[0] = exp(-input[0] / 10);
	output[1] = input[0] * input[1] + input[2];
}

int main(int argc, char **argv)
{
	farhash_job *job;
	farhash_cache *results;
	farhash_cache_stats total;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must(farhash_join_comm(MPI_COMM_WORLD, NULL, &job));
	farhash_cache_config config = {.key_size = INPUTS * sizeof(double),
		.value_size = OUTPUTS * sizeof(double), .buckets = 100000};
	must(farhash_cache_new(job, &config, &results));

	double sum = 0;
	for (int step = 1; step <= STEPS; step++) {
		for (int cell = rank; cell < CELLS; cell += size) {
			double input[INPUTS] = {20 + cell % 1000 * 1e-2 + step * 1e-9, 1, step / 3};
			double output[OUTPUTS];
			/* Four digits make one key of what is nearly the same. */
			must(farhash_round(input, INPUTS, (int32_t[]){4}, 1, NULL, 0));
			if (must(farhash_cache_get(results, input, output)) == FARHASH_MISS) {
				simulate(input, output);
				must(farhash_cache_put(results, input, output));
			}
			sum += output[0];
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}

	must(farhash_cache_all_stats(results, NULL, &total));
	if (rank == 0)
		printf("%llu results, computed %llu of them: %.1f %%\n",
			(unsigned long long)(total.hits + total.misses), (unsigned long long)total.misses,
			100.0 * total.misses / (total.hits + total.misses));
	must(farhash_job_close(job));
	MPI_Finalize();
	return total.hits + total.misses == (uint64_t)CELLS * STEPS && sum > 0 ? 0 : 1;
}
