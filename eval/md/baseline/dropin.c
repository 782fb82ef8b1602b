/* The cache of farhash by the interface of MPI-DHT. */
#include <LUCX/MPI/DHT.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

const char *const table_mode = "drop-in";

static DHT *table;

void table_open(uint64_t buckets)
{
	table = DHT_create(&(DHT_init_t){.key_size = sizeof((operation *)0)->key,
		.data_size = sizeof((operation *)0)->value, .bucket_count = buckets,
		.comm = MPI_COMM_WORLD});
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

void table_work(operation *all, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++)
		if (all[i].put)
			DHT_write(table, all[i].key, all[i].value, NULL, NULL);
		else
			all[i].found = DHT_read(table, all[i].key, all[i].value) == DHT_SUCCESS;
}
