/* What farhash_mpi.h and farhash_dht.h check: that a program was compiled for the same MPI as the
 * library that it is linked with. Handles of MPI differ between Open MPI and MPICH, so a program
 * with the wrong library would crash somewhere; instead it ends at its start, with a sentence. */
#ifndef FARHASH_SAME_MPI_H
#define FARHASH_SAME_MPI_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined OMPI_MAJOR_VERSION
#define FARHASH_COMPILED_FOR "openmpi"
#elif defined MPICH_VERSION
#define FARHASH_COMPILED_FOR "mpich"
#else
#define FARHASH_COMPILED_FOR ""
#endif

/* farhash_same_mpi ends a program whose MPI is another one than the library's. The first process
 * says why. */
static inline void farhash_same_mpi(const char *library, const char *built_for)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	if (!FARHASH_COMPILED_FOR[0] || !built_for[0] || !strcmp(FARHASH_COMPILED_FOR, built_for))
		return;
	if (!rank)
		rank = getenv("PMI_RANK");
	if (!rank || !strcmp(rank, "0"))
		fprintf(stderr, "farhash: this program was compiled for %s and is linked with lib%s-%s; "
			"link lib%s-%s, or compile it with mpicc.%s\n", FARHASH_COMPILED_FOR, library, built_for,
			library, FARHASH_COMPILED_FOR, built_for);
	exit(1);
}

/* FARHASH_SAME_MPI has a program check before main. */
#ifdef __GNUC__
#define FARHASH_SAME_MPI(name, library, built_for) \
	__attribute__((constructor)) static void name(void) { farhash_same_mpi(library, built_for); }
#else
#define FARHASH_SAME_MPI(name, library, built_for)
#endif

#endif
