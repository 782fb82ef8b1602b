//go:build mpi

#include <mpi.h>
#include <string.h>

#include "comm.h"
#include "farhash_same_mpi.h"
#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
	MPI_THREAD_MULTIPLE};

const char *farhash_mpi_library(void) {
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int n;
	MPI_Get_library_version(text, &n);
	text[strcspn(text, "\n,")] = 0;
	return text;
}

const char *farhash_mpi_built_for(void) { return FARHASH_COMPILED_FOR; }

int fh_comm_ask(int handle, fh_comm_facts *f) {
	int provided, err = MPI_Initialized(&f->initialized);
	if (err || !f->initialized)
		return err;
	err = MPI_Finalized(&f->finalized);
	if (err || f->finalized)
		return err;
	MPI_Comm comm = MPI_Comm_f2c(handle);
	f->null = comm == MPI_COMM_NULL;
	if (f->null)
		return 0;
	if ((err = MPI_Comm_test_inter(comm, &f->inter)) || (err = MPI_Comm_rank(comm, &f->rank)) ||
		(err = MPI_Comm_size(comm, &f->size)) ||
		(err = MPI_Comm_size(MPI_COMM_WORLD, &f->world)) || (err = MPI_Query_thread(&provided)))
		return err;
	for (int i = 0; i < 4; i++)
		if (levels[i] == provided)
			f->level = i;
	return 0;
}

int fh_comm_gather(int comm, const uint64_t *mine, uint64_t *all, int words) {
	return MPI_Allgather(mine, words, MPI_UINT64_T, all, words, MPI_UINT64_T, MPI_Comm_f2c(comm));
}

int fh_comm_least(int comm, uint64_t mine, uint64_t *least) {
	return MPI_Allreduce(&mine, least, 1, MPI_UINT64_T, MPI_MIN, MPI_Comm_f2c(comm));
}

void fh_comm_error(int code, char *text, int size) {
	char all[MPI_MAX_ERROR_STRING] = "";
	int n;
	MPI_Error_string(code, all, &n);
	strncpy(text, all, size - 1);
	text[size - 1] = 0;
}

// Open jobs are closed before MPI_Finalize begins: no other thread may be in a call of MPI then,
// and MPICH at MPI_THREAD_MULTIPLE sometimes aborts if one is. So this library defines MPI_Finalize,
// in front of MPI's. Calls from Fortran and Python, and from programs that link MPI first, do
// not come here. For these an attribute of MPI_COMM_SELF does the same, a little late: MPI_Finalize
// begins by deleting the attributes, while MPI still works.
static int atFinalize = MPI_KEYVAL_INVALID;

int MPI_Finalize(void) {
	if (atFinalize != MPI_KEYVAL_INVALID && fh_alive() == FARHASH_OK)
		goFinalizing();
	return PMPI_Finalize();
}

static int finalizing(MPI_Comm comm, int key, void *value, void *extra) {
	(void)comm, (void)key, (void)value, (void)extra;
	if (fh_alive() == FARHASH_OK)
		goFinalizing();
	return MPI_SUCCESS;
}

int fh_at_finalize(void) {
	if (atFinalize != MPI_KEYVAL_INVALID)
		return 0;
	int err = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &atFinalize, NULL);
	return err ? err : MPI_Comm_set_attr(MPI_COMM_SELF, atFinalize, &atFinalize);
}
