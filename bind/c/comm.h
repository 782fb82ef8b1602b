// What the library needs of a communicator, which is given by its Fortran handle. All is called in
// the thread of the program. Functions return 0 or a code of MPI.

#ifndef FARHASH_COMM_H
#define FARHASH_COMM_H

#include <stdint.h>

typedef struct {
	int initialized, finalized;
	int null, inter; // it is no communicator at all, or one of two groups
	int rank, size;
	int world; // ranks of MPI_COMM_WORLD
	int level; // of threads: 0 single, 1 funneled, 2 serialized, 3 multiple
} fh_comm_facts;

int fh_comm_ask(int comm, fh_comm_facts *facts);
int fh_comm_gather(int comm, const uint64_t *mine, uint64_t *all, int words);
int fh_comm_least(int comm, uint64_t mine, uint64_t *least);
void fh_comm_error(int code, char *text, int size);

// fh_at_finalize has goFinalizing called when MPI is finalised.
int fh_at_finalize(void);

#endif
