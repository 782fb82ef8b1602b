/* The lock-free protocol of MD 3.1 and 4.2 as a plain loop of MPI_Get and MPI_Put, each followed
 * by MPI_Win_flush: what the cache is compared with.
 *
 * A bucket is a checksum, a key and a value. The rank is the hash modulo the ranks; the
 * candidates are the windows of n bytes of the hash, modulo the buckets, where n bytes can
 * number these. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

#define RETRIES 3

enum { EMPTY = 0, INVALID = 1 }; /* what is no checksum */

typedef struct {
	uint64_t checksum, key[KEY_WORDS], value[VALUE_WORDS];
} bucket;

const char *const table_mode = "baseline";
const int table_threads = MPI_THREAD_SINGLE;

static uint64_t buckets;
static int window_bytes;
static bucket *memory;
static MPI_Win window;

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

void table_open(uint64_t count)
{
	buckets = count;
	for (window_bytes = 1; window_bytes < 8 && buckets > 1ull << 8 * window_bytes;)
		window_bytes++;
	if (!memory) {
		MPI_Win_allocate(buckets * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
			&memory, &window);
		MPI_Win_lock_all(0, window);
	}
	MPI_Barrier(MPI_COMM_WORLD); /* nobody works on the buckets */
	memset(memory, 0, buckets * sizeof *memory);
	MPI_Win_sync(window);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The window serves the next table. */
void table_close(void) {}

void table_end(void)
{
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
}

void table_work(const operations *all)
{
	for (uint64_t i = 0; i < all->n; i++)
		if (all->puts[i])
			dht_write(all->keys[i], all->values[i]);
		else
			all->found[i] = dht_read(all->keys[i], all->values[i]);
}
