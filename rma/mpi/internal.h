// What the C files share.

#if !__has_include(<mpi.h>)
#error "no mpi.h: build with -tags 'mpi openmpi', with -tags 'mpi mpich', or with CC=mpicc"
#endif
#include <mpi.h>

struct fh_job {
	MPI_Comm comm;
	int rank, size;
	MPI_Request meeting; // the collective call under way
	uint64_t ended;      // collective calls that came to their end here
	uint64_t *left;      // by rank: 1 + how many had done so there when it left; 0: it is here
	int leftRanks;
	uint64_t leaving;
	MPI_Request *leaves;
	int64_t *poked; // by rank: until when it knows that its memory is in use
	int gone; // its windows are no more
	fh_job *next;
};

struct fh_window {
	fh_job *job;
	MPI_Win win;
	uint64_t **direct;
};

enum { FH_HOT_NS = 2000000, FH_POKE_NS = 1000000 };

extern int fh_is_crowded; // ranks on this host are as many as its processors
extern int fh_is_ending;  // in MPI_Finalize
extern int fh_is_passive; // no thread owns MPI

int64_t fh_now(void);
void fh_heat(void);
void fh_attend(fh_job *job); // under the lock, as are the following
void fh_forget(fh_job *job);
int fh_receive(fh_job *job);
int fh_poke(fh_job *job, int rank);
