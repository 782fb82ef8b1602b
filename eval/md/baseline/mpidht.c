/* MPI-DHT's three protocols (MD 3.1, 4.1 and 4.2) as plain loops of MPI_Get and MPI_Put, each
 * followed by MPI_Win_flush: what the cache is compared with. The argument -m chooses one:
 *
 *   coarse     MPI_Win_lock locks all buckets of the target: shared to read, exclusive to write
 *   fine       a word in front of each bucket is its lock; a rank holds one at a time
 *   lock-free  a checksum in each bucket
 *
 * The rank is the hash modulo the ranks; the candidates are the windows of n bytes of the hash,
 * modulo the buckets, where n bytes can number these. mpidht/ has the same in Go. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

enum { OCCUPIED = 1, INVALID = 2 }; /* flags in meta; its upper half is the checksum */

/* A writer in the lock of a bucket. What is below are readers. */
static const int64_t exclusive = 0x10000000;

/* A bucket without its lock. */
typedef struct {
	uint64_t meta, key[KEY_WORDS], value[VALUE_WORDS];
} bucket;

static enum { LOCK_FREE, FINE, COARSE } protocol;

const char *table_mode = "baseline";
const int table_threads = MPI_THREAD_SINGLE;

static uint64_t buckets;
static int window_bytes;
static int lock_bytes;
static char *memory;
static MPI_Win window;

int table_choose(const char *name)
{
	static const char *const names[] = {"lock-free", "fine", "coarse"};
	static const char *const modes[] = {"baseline", "baseline-fine", "baseline-coarse"};
	for (int i = 0; i < 3; i++)
		if (strcmp(name, names[i]) == 0) {
			protocol = i;
			table_mode = modes[i];
			return 1;
		}
	return 0;
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

/* checksum is the one of a key and value, where it is in meta. */
static uint64_t checksum(const bucket *b)
{
	return digest(digest(1, b->key, KEY_WORDS), b->value, VALUE_WORDS) >> 32 << 32;
}

/* at is where a bucket with its lock begins. */
static MPI_Aint at(uint64_t index)
{
	return index * (lock_bytes + sizeof(bucket));
}

static int64_t add(int64_t delta, int target, uint64_t index)
{
	int64_t saw;
	MPI_Fetch_and_op(&delta, &saw, MPI_INT64_T, target, at(index), MPI_SUM, window);
	MPI_Win_flush(target, window);
	return saw;
}

static void lock_exclusive(int target, uint64_t index)
{
	int64_t none = 0, saw;
	if (protocol == FINE)
		do {
			MPI_Compare_and_swap(&exclusive, &none, &saw, MPI_INT64_T, target, at(index), window);
			MPI_Win_flush(target, window);
		} while (saw != none);
}

static void lock_shared(int target, uint64_t index)
{
	if (protocol == FINE)
		while (add(1, target, index) >= exclusive)
			add(-1, target, index);
}

static void unlock(int64_t share, int target, uint64_t index)
{
	if (protocol == FINE)
		add(-share, target, index);
}

static void lock_rank(int type, int target)
{
	if (protocol == COARSE)
		MPI_Win_lock(type, target, 0, window);
}

static void unlock_rank(int target)
{
	if (protocol == COARSE)
		MPI_Win_unlock(target, window);
}

static void read_bucket(bucket *into, int target, uint64_t index)
{
	MPI_Get(into, sizeof *into, MPI_BYTE, target, at(index) + lock_bytes, sizeof *into, MPI_BYTE,
		window);
	MPI_Win_flush(target, window);
}

static void write_bucket(const void *from, int bytes, int target, uint64_t index)
{
	MPI_Put(from, bytes, MPI_BYTE, target, at(index) + lock_bytes, bytes, MPI_BYTE, window);
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
	int target = hash % ranks, last = 8 - window_bytes, free;
	bucket b;
	lock_rank(MPI_LOCK_EXCLUSIVE, target);
	for (int i = 0;; i++) {
		uint64_t index = place(hash, i);
		lock_exclusive(target, index);
		read_bucket(&b, target, index);
		free = !(b.meta & OCCUPIED) || b.meta & INVALID;
		if (!free && memcmp(b.key, key, sizeof b.key) != 0 && i < last) {
			unlock(exclusive, target, index);
			continue;
		}
		memcpy(b.key, key, sizeof b.key);
		memcpy(b.value, value, sizeof b.value);
		b.meta = OCCUPIED | (protocol == LOCK_FREE ? checksum(&b) : 0);
		write_bucket(&b, sizeof b, target, index);
		unlock(exclusive, target, index);
		break;
	}
	unlock_rank(target);
}

/* find gets the bucket of a key into b. */
static int find(bucket *b, uint64_t hash, int target, const uint64_t *key)
{
	for (int i = 0, again = 0; i <= 8 - window_bytes;) {
		uint64_t index = place(hash, i);
		lock_shared(target, index);
		read_bucket(b, target, index);
		unlock(1, target, index);
		if (!(b->meta & OCCUPIED))
			return 0;
		if (memcmp(b->key, key, sizeof b->key) != 0) {
			i++;
			continue;
		}
		if (b->meta & INVALID)
			return 0;
		if (protocol != LOCK_FREE || b->meta >> 32 << 32 == checksum(b))
			return 1;
		mismatches++;
		if (again++) {
			b->meta |= INVALID;
			write_bucket(&b->meta, sizeof b->meta, target, index);
			return 0;
		}
	}
	return 0;
}

static int dht_read(const uint64_t *key, uint64_t *value)
{
	uint64_t hash = digest(0, key, KEY_WORDS);
	int target = hash % ranks, found;
	bucket b;
	lock_rank(MPI_LOCK_SHARED, target);
	found = find(&b, hash, target, key);
	unlock_rank(target);
	if (found)
		memcpy(value, b.value, sizeof b.value);
	return found;
}

void table_open(uint64_t count)
{
	buckets = count;
	lock_bytes = protocol == FINE ? sizeof exclusive : 0;
	for (window_bytes = 1; window_bytes < 8 && buckets > 1ull << 8 * window_bytes;)
		window_bytes++;
	if (!memory) {
		MPI_Win_allocate(at(buckets), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
		if (protocol != COARSE)
			MPI_Win_lock_all(0, window);
	}
	MPI_Barrier(MPI_COMM_WORLD); /* nobody works on the buckets */
	if (protocol == COARSE)
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
	memset(memory, 0, at(buckets));
	if (protocol == COARSE)
		MPI_Win_unlock(rank, window);
	else
		MPI_Win_sync(window);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The window serves the next table. */
void table_close(void) {}

void table_end(void)
{
	if (protocol != COARSE)
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
