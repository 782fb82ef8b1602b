/* The workloads of farhash-eval md cache in C, for tables that can be had from C:
 *
 *   mpicc -O3 -DNDEBUG -o mpidht workloads.c mpidht.c -lm          plain loops of MPI_Get and MPI_Put
 *   mpicc -O3 -DNDEBUG -o dropin workloads.c dropin.c -lm $(pkg-config --cflags --libs farhash_dht)
 *   mpicc -O3 -DNDEBUG -o library workloads.c library.c -lm $(pkg-config --cflags --libs farhash-openmpi)
 *   mpirun -n 4 ./mpidht [-o OPERATIONS] [-b BUCKETS] [-k KEYS] [-r RUNS] [-a BATCH] [-m PROTOCOL]
 *
 * OPERATIONS are for each rank and workload, BUCKETS for each rank, KEYS how many
 * to draw from, BATCH how many operations go to the library at once. PROTOCOL is
 * lock-free, fine or coarse, of which dropin and library have the first. Keys have 80 bytes and
 * values 104, or what -DKEY_WORDS and -DVALUE_WORDS say. It prints a line for each run of each
 * workload, in the format of farhash-eval md cache --benchfmt. Operations are generated, and
 * values that were read are verified, while no clock runs. */
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table.h"

int rank, ranks, batch = 1;
uint64_t mismatches;
static uint64_t stamps;

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

/* derive fills words by a key and, for a value, by the stamp that is its first word. */
static void derive(uint64_t *words, int n, uint64_t seed)
{
	for (int i = 0; i < n; i++)
		words[i] = mix(seed += 0x9E3779B97F4A7C15);
}

static int right(const operations *all, uint64_t i)
{
	uint64_t want[VALUE_WORDS];
	derive(want, VALUE_WORDS - 1, mix(all->numbers[i] + 1) ^ mix(all->values[i][0]));
	return memcmp(want, all->values[i] + 1, (VALUE_WORDS - 1) * sizeof *want) == 0;
}

/* draw gives the number of a key: evenly, or by the sums of their weights. */
static uint64_t draw(uint64_t *state, const double *sums, uint64_t keys)
{
	double at = (mix(*state += 0x9E3779B97F4A7C15) >> 11) * 0x1p-53;
	uint64_t low = 0, high = keys - 1;
	if (!sums)
		return at * keys;
	for (at *= sums[keys - 1]; low < high;) {
		uint64_t middle = low + (high - low) / 2;
		if (sums[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* generate draws writes of 20 operations to each 20, and reads for the rest. Reads alone ask
 * for the keys of the writes alone. */
static void generate(const operations *all, int writes, const double *sums, uint64_t keys)
{
	uint64_t state = mix(rank + 1) + (writes == 1);
	for (uint64_t from = 0, end; from < all->n; from = end) {
		uint64_t front = from, back;
		back = end = all->n - from < (uint64_t)batch ? all->n : from + batch;
		while (front < back) {
			uint64_t number = draw(&state, sums, keys);
			int put = mix(~state) % 20 < (uint64_t)writes;
			uint64_t i = put ? --back : front++, *value = all->values[i];
			all->numbers[i] = number, all->puts[i] = put, all->found[i] = 0;
			derive(all->keys[i], KEY_WORDS, number);
			value[0] = (uint64_t)rank << 40 | ++stamps;
			derive(value + 1, VALUE_WORDS - 1, mix(number + 1) ^ mix(value[0]));
		}
	}
}

static void workload(const char *law, const char *name, int writes, const operations *all,
	const double *sums, uint64_t keys)
{
	uint64_t hits = 0, counts[4] = {0}, totals[4];
	mismatches = 0;
	generate(all, writes, sums, keys);
	MPI_Barrier(MPI_COMM_WORLD);
	double start = MPI_Wtime(), spent, longest;
	table_work(all);
	spent = MPI_Wtime() - start;
	MPI_Barrier(MPI_COMM_WORLD);
	for (uint64_t i = 0; i < all->n; i++) {
		hits += all->found[i];
		counts[0] += all->found[i] && !right(all, i);
	}
	counts[1] = hits, counts[2] = mismatches, counts[3] = all->n;
	MPI_Reduce(counts, totals, 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&spent, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		double kops = totals[3] / longest / 1e3;
		printf("BenchmarkCache/mode=%s/keys=%s/workload=%s/batch=%d/ranks=%d-1\t%llu\t"
			"%.4g ns/op\t%.5g kop/s\t%llu mismatches\t%llu wrong\t%llu hits\n", table_mode, law, name,
			batch, ranks,
			(unsigned long long)totals[3], 1e6 / kops, kops, (unsigned long long)totals[2],
			(unsigned long long)totals[0], (unsigned long long)totals[1]);
		fflush(stdout);
	}
}

/* laws does all workloads with uniform keys, and then with sums of weights. */
static void laws(const operations *all, const double *sums, uint64_t keys, uint64_t buckets)
{
	for (int zipf = 0; zipf < 2; zipf++) {
		const char *law = zipf ? "zipf" : "uniform";
		const double *weights = zipf ? sums : NULL;
		table_open(buckets);
		workload(law, "write", 20, all, weights, keys);
		workload(law, "read", 0, all, weights, keys);
		workload(law, "mixed", 1, all, weights, keys);
		table_close();
	}
}

static void fail(const char *what)
{
	if (rank == 0)
		fprintf(stderr, "%s: %s\n"
			"usage: %s [-o OPERATIONS] [-b BUCKETS] [-k KEYS] [-r RUNS] [-a BATCH] "
			"[-m lock-free|fine|coarse]\n", table_mode,
			what, table_mode);
	MPI_Finalize();
	exit(2);
}

static void leave(int signal)
{
	_exit(signal != SIGALRM);
}

int main(int argc, char **argv)
{
	unsigned long long n = 100000, keys = 712500, runs = 1, buckets = 1 << 18,
		many = 1, *number;
	int threads;
	MPI_Init_thread(&argc, &argv, table_threads, &threads);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int flag; (flag = getopt(argc, argv, "o:b:k:r:a:m:")) != -1;) {
		if (flag == 'm') {
			if (!table_choose(optarg))
				fail("there is no such protocol");
			continue;
		}
		unsigned long long value = flag == '?' ? 0 : strtoull(optarg, NULL, 10);
		if (value < 1 || value > 1ull << 40)
			fail("what is given must be numbers of 1 to 2^40");
		number = flag == 'o' ? &n : flag == 'k' ? &keys : flag == 'b' ? &buckets :
			flag == 'a' ? &many : &runs;
		*number = value;
	}
	if (many > 1 << 20)
		fail("a batch is at most 2^20 operations");
	batch = (int)many;
	double *sums = malloc(keys * sizeof *sums), sum = 0;
	operations all = {n, malloc(n * sizeof *all.numbers), malloc(n), malloc(n),
		malloc(n * sizeof *all.keys), malloc(n * sizeof *all.values)};
	if (!sums || !all.numbers || !all.puts || !all.found || !all.keys || !all.values)
		fail("there is not enough memory");
	for (uint64_t i = 0; i < keys; i++)
		sums[i] = sum += pow(i + 1, -0.99);
	for (uint64_t run = 0; run < runs; run++)
		laws(&all, sums, keys, buckets);
	signal(SIGALRM, leave); /* MPICH's may not return over TCP */
	alarm(5);
	table_end();
	MPI_Finalize();
	return 0;
}
