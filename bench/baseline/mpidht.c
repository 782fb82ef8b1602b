/* mpidht is what farhash bench cache is compared with: the lock-free protocol of MD 3.1 and
 * 4.2 as a plain loop of MPI_Get and MPI_Put, each followed by MPI_Win_flush.
 *
 *   mpicc -O3 -DNDEBUG -o mpidht mpidht.c -lm
 *   mpirun -n 4 ./mpidht [-o OPERATIONS] [-b BUCKETS] [-k KEYS] [-r RUNS]
 *
 * OPERATIONS are those of each rank and workload, BUCKETS those of each rank, KEYS how many
 * to draw from. Keys have 80 bytes and values 104, or what -DKEY_WORDS and -DVALUE_WORDS say.
 * It prints a line for each run of each workload, in the format of farhash bench cache
 * --benchfmt. Operations are generated, and values that were read are verified, while
 * no clock runs.
 *
 * A bucket is a checksum, a key and a value. The rank is the hash modulo the ranks; the
 * candidates are the windows of n bytes of the hash, modulo the buckets, where n bytes can
 * number these. */
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef KEY_WORDS
#define KEY_WORDS 10
#endif
#ifndef VALUE_WORDS
#define VALUE_WORDS 13
#endif
#define RETRIES 3

enum { EMPTY = 0, INVALID = 1 }; /* what is no checksum */

typedef struct {
	uint64_t checksum, key[KEY_WORDS], value[VALUE_WORDS];
} bucket;

typedef struct {
	uint64_t number; /* of the key */
	int put, found;
	uint64_t key[KEY_WORDS], value[VALUE_WORDS];
} operation;

static int rank, ranks;
static uint64_t buckets = 1 << 18;
static int window_bytes;
static bucket *memory;
static MPI_Win window;
static uint64_t hits, mismatches, stamps;

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* digest is a hash of words. */
static uint64_t digest(uint64_t sum, const uint64_t *words, int n)
{
	for (; n > 1; words += 2, n -= 2)
		sum = fold(words[0] ^ sum ^ 0x243F6A8885A308D3, words[1] ^ 0x13198A2E03707344);
	return fold(sum ^ (n ? words[0] : 0) ^ 0xA4093822299F31D0, 0x082EFA98EC4E6C89);
}

static uint64_t checksum(const bucket *b)
{
	uint64_t sum = digest(digest(1, b->key, KEY_WORDS), b->value, VALUE_WORDS);
	return sum > INVALID ? sum : sum + 2;
}

static void read_bucket(bucket *into, int target, uint64_t index)
{
	MPI_Get(into, sizeof *into, MPI_BYTE, target, index, sizeof *into, MPI_BYTE, window);
	MPI_Win_flush(target, window);
}

static void write_words(const void *from, int bytes, int target, uint64_t index)
{
	MPI_Put(from, bytes, MPI_BYTE, target, index, bytes, MPI_BYTE, window);
	MPI_Win_flush(target, window);
}

/* place is candidate number i of a key with that hash. */
static uint64_t place(uint64_t hash, int i)
{
	uint64_t mask = window_bytes == 8 ? UINT64_MAX : (1ull << 8 * window_bytes) - 1;
	return (hash >> 8 * i & mask) % buckets;
}

static void dht_write(const uint64_t *key, const uint64_t *value)
{
	uint64_t hash = digest(0, key, KEY_WORDS);
	int target = hash % ranks, last = 8 - window_bytes;
	bucket b;
	for (int i = 0;; i++) {
		uint64_t index = place(hash, i);
		read_bucket(&b, target, index);
		if (b.checksum > INVALID && memcmp(b.key, key, sizeof b.key) != 0 && i < last)
			continue;
		memcpy(b.key, key, sizeof b.key);
		memcpy(b.value, value, sizeof b.value);
		b.checksum = checksum(&b);
		write_words(&b, sizeof b, target, index);
		return;
	}
}

static int dht_read(const uint64_t *key, uint64_t *value)
{
	uint64_t hash = digest(0, key, KEY_WORDS);
	int target = hash % ranks;
	bucket b;
	for (int i = 0; i <= 8 - window_bytes; i++) {
		uint64_t index = place(hash, i), invalid = INVALID;
		for (int tries = 0;; tries++) {
			read_bucket(&b, target, index);
			if (b.checksum == EMPTY)
				return 0;
			if (b.checksum == INVALID || memcmp(b.key, key, sizeof b.key) != 0)
				break;
			if (b.checksum == checksum(&b)) {
				memcpy(value, b.value, sizeof b.value);
				return 1;
			}
			mismatches++;
			if (tries == RETRIES) {
				write_words(&invalid, sizeof invalid, target, index);
				return 0;
			}
		}
	}
	return 0;
}

/* derive fills words by a key and, for a value, by the stamp that is its first word. */
static void derive(uint64_t *words, int n, uint64_t seed)
{
	for (int i = 0; i < n; i++)
		words[i] = mix(seed += 0x9E3779B97F4A7C15);
}

static int right(const operation *o)
{
	uint64_t want[VALUE_WORDS];
	derive(want, VALUE_WORDS - 1, mix(o->number + 1) ^ mix(o->value[0]));
	return memcmp(want, o->value + 1, (VALUE_WORDS - 1) * sizeof *want) == 0;
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

/* workload does writes of 20 operations to each 20, and reads for the rest. Reads alone ask
 * for the keys of the writes alone. */
static void workload(const char *law, const char *name, int writes, operation *all,
	uint64_t operations, const double *sums, uint64_t keys)
{
	uint64_t state = mix(rank + 1) + (writes == 1), counts[4] = {0}, totals[4];
	hits = mismatches = 0;
	for (uint64_t i = 0; i < operations; i++) {
		operation *o = &all[i];
		o->number = draw(&state, sums, keys);
		o->put = mix(~state) % 20 < (uint64_t)writes;
		o->found = 0;
		derive(o->key, KEY_WORDS, o->number);
		o->value[0] = (uint64_t)rank << 40 | ++stamps;
		derive(o->value + 1, VALUE_WORDS - 1, mix(o->number + 1) ^ mix(o->value[0]));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	double start = MPI_Wtime(), spent, longest;
	for (uint64_t i = 0; i < operations; i++)
		if (all[i].put)
			dht_write(all[i].key, all[i].value);
		else
			all[i].found = dht_read(all[i].key, all[i].value);
	spent = MPI_Wtime() - start;
	MPI_Barrier(MPI_COMM_WORLD);
	for (uint64_t i = 0; i < operations; i++) {
		hits += all[i].found;
		counts[0] += all[i].found && !right(&all[i]);
	}
	counts[1] = hits, counts[2] = mismatches, counts[3] = operations;
	MPI_Reduce(counts, totals, 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&spent, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		double kops = totals[3] / longest / 1e3;
		printf("BenchmarkCache/mode=baseline/keys=%s/workload=%s/batch=1/ranks=%d-1\t%llu\t"
			"%.4g ns/op\t%.5g kop/s\t%llu mismatches\t%llu wrong\t%llu hits\n", law, name, ranks,
			(unsigned long long)totals[3], 1e6 / kops, kops, (unsigned long long)totals[2],
			(unsigned long long)totals[0], (unsigned long long)totals[1]);
		fflush(stdout);
	}
}

/* laws does all workloads with uniform keys, and then with sums of weights. */
static void laws(operation *all, uint64_t operations, const double *sums, uint64_t keys)
{
	for (int zipf = 0; zipf < 2; zipf++) {
		const char *law = zipf ? "zipf" : "uniform";
		const double *weights = zipf ? sums : NULL;
		MPI_Barrier(MPI_COMM_WORLD); /* nobody works on the buckets */
		memset(memory, 0, buckets * sizeof *memory);
		MPI_Win_sync(window);
		MPI_Barrier(MPI_COMM_WORLD);
		workload(law, "write", 20, all, operations, weights, keys);
		workload(law, "read", 0, all, operations, weights, keys);
		workload(law, "mixed", 1, all, operations, weights, keys);
	}
}

static void fail(const char *what)
{
	if (rank == 0)
		fprintf(stderr, "mpidht: %s\n"
			"usage: mpidht [-o OPERATIONS] [-b BUCKETS] [-k KEYS] [-r RUNS]\n", what);
	MPI_Finalize();
	exit(2);
}

static void leave(int signal)
{
	_exit(signal != SIGALRM);
}

int main(int argc, char **argv)
{
	unsigned long long operations = 100000, keys = 712500, runs = 1, *number;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int flag; (flag = getopt(argc, argv, "o:b:k:r:")) != -1;) {
		unsigned long long value = flag == '?' ? 0 : strtoull(optarg, NULL, 10);
		if (value < 1 || value > 1ull << 40)
			fail("what is given must be numbers of 1 to 2^40");
		number = flag == 'o' ? &operations : flag == 'k' ? &keys : &runs;
		if (flag == 'b')
			buckets = value;
		else
			*number = value;
	}
	for (window_bytes = 1; window_bytes < 8 && buckets > 1ull << 8 * window_bytes;)
		window_bytes++;
	double *sums = malloc(keys * sizeof *sums), sum = 0;
	operation *all = malloc(operations * sizeof *all);
	if (!sums || !all)
		fail("there is not enough memory");
	for (uint64_t i = 0; i < keys; i++)
		sums[i] = sum += pow(i + 1, -0.99);
	MPI_Win_allocate(buckets * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
		&memory, &window);
	MPI_Win_lock_all(0, window);
	for (uint64_t run = 0; run < runs; run++)
		laws(all, operations, sums, keys);
	MPI_Win_unlock_all(window);
	signal(SIGALRM, leave); /* that of MPICH may not return over TCP */
	alarm(5);
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
