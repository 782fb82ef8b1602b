/* Jobs of the processes of an MPI communicator. The library is one that was built for the same
 * MPI: -lfarhash-openmpi or -lfarhash-mpich. */
#ifndef FARHASH_MPI_H
#define FARHASH_MPI_H

#include <mpi.h>

#include "farhash.h"
#include "farhash_same_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The MPI that the library was built for: openmpi, mpich or an empty text. */
extern const char *farhash_mpi_built_for(void);

FARHASH_SAME_MPI(farhash_check_mpi, "farhash", farhash_mpi_built_for())

#ifdef __cplusplus
}
#endif

/* farhash_join_comm is farhash_join_fortran_comm for C. Collective. */
static inline int farhash_join_comm(MPI_Comm comm, const farhash_options *options,
	farhash_job **job)
{
	int begun = 0, over = 0; /* if not, the library says so, where MPI_Comm_c2f would abort */
	MPI_Initialized(&begun);
	MPI_Finalized(&over);
	return farhash_join_fortran_comm(begun && !over ? (int32_t)MPI_Comm_c2f(comm) : 0, options,
		job);
}

#endif
