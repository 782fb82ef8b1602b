/* A cache by the interface of MPI-DHT: farhash's, or with -DMPI_DHT MPI-DHT itself. */
#include <LUCX/MPI/DHT.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#ifdef MPI_DHT
const char *table_mode = "MPI-DHT";
#else
const char *table_mode = "drop-in";
#endif

const int table_threads = MPI_THREAD_SINGLE; /* as programs for MPI-DHT do */

static DHT *table;

/* hash is cheap, so that it does not decide: a multiplication for eight bytes. */
static uint64_t hash(int length, const void *key)
{
	const char *bytes = key;
	uint64_t sum = 0, word;
	for (; length >= 8; length -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		sum = (sum ^ word) * 0x9E3779B97F4A7C15;
		sum ^= sum >> 32;
	}
	return sum;
}

int table_choose(const char *protocol)
{
	return strcmp(protocol, "lock-free") == 0;
}

void table_open(uint64_t buckets)
{
	table = DHT_create(&(DHT_init_t){.key_size = KEY_WORDS * sizeof(uint64_t),
		.data_size = VALUE_WORDS * sizeof(uint64_t), .bucket_count = buckets,
		.hash_func = hash, .comm = MPI_COMM_WORLD});
	if (!table) {
		fputs("drop-in: DHT_create failed\n", stderr);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* DHT_print_statistics alone reports what failed its checksum: no line of the output has it. */
void table_close(void)
{
	DHT_free(table, NULL);
}

void table_end(void) {}

void table_work(const operations *all)
{
	for (uint64_t i = 0; i < all->n; i++)
		if (all->puts[i])
			DHT_write(table, all->keys[i], all->values[i], NULL, NULL);
		else
			all->found[i] = DHT_read(table, all->keys[i], all->values[i]) == DHT_SUCCESS;
}
