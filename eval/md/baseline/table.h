/* What the programs here have in common: workloads.c measures a table that another file has. */
#ifndef TABLE_H
#define TABLE_H

#include <mpi.h>
#include <stdint.h>

#ifndef KEY_WORDS
#define KEY_WORDS 10
#endif
#ifndef VALUE_WORDS
#define VALUE_WORDS 13
#endif

/* Operations, an array for each of their parts. In each batch gets stand before puts. */
typedef struct {
	uint64_t n, *numbers; /* of keys */
	uint8_t *puts, *found; /* 1 or 0 */
	uint64_t (*keys)[KEY_WORDS], (*values)[VALUE_WORDS];
} operations;

extern int rank, ranks, batch; /* batch: operations that may be done at once */

extern const char *table_mode;       /* how lines of benchmarks call the table */
extern const int table_threads;      /* the level of threads that MPI is initialised with */
extern uint64_t mismatches;          /* buckets that failed their checksum */

/* table_choose is called first if a protocol is asked for; 0: the table has none of that name. */
int table_choose(const char *protocol);

/* An empty table for the next workloads, with so many buckets on each rank, and its end. */
void table_open(uint64_t buckets);
void table_close(void);

/* table_end is called before MPI_Finalize. */
void table_end(void);

/* table_work does the operations: puts put their value, gets set found and get theirs. */
void table_work(const operations *all);

#endif
