//go:build mpi

// Single gets and puts, for callers in C: without a queue, and ended when the function returns.

#include <sched.h>

#include "shim.h"
#include "internal.h"

// begin takes the lock, for words of a rank.
static int begin(const fh_window *w, int rank) {
	fh_lock();
	return w->job->gone ? FH_GONE : fh_poke(w->job, rank);
}

static int end(int err) {
	fh_unlock();
	return err;
}

int fh_get_one(void *window, int rank, int64_t off, uint64_t *words, int64_t n) {
	const fh_window *w = window;
	int err = begin(w, rank);
	if (!err)
		err = MPI_Get(words, (int)n, MPI_UINT64_T, rank, off, (int)n, MPI_UINT64_T, w->win);
	if (!err)
		err = MPI_Win_flush(rank, w->win);
	return end(err);
}

int fh_get_by_request(void *window, int rank, int64_t off, uint64_t *words, int64_t n) {
	const fh_window *w = window;
	MPI_Request request;
	int done = 0, err = begin(w, rank);
	if (!err)
		err = MPI_Rget(words, (int)n, MPI_UINT64_T, rank, off, (int)n, MPI_UINT64_T, w->win, &request);
	while (!err && !(err = MPI_Test(&request, &done, MPI_STATUS_IGNORE)) && !done) {
		fh_unlock();
		sched_yield();
		fh_lock();
		if (w->job->gone)
			err = FH_GONE;
	}
	return end(err);
}

int fh_put_one(void *window, int rank, int64_t off, uint64_t *words, int64_t n) {
	const fh_window *w = window;
	int err = begin(w, rank);
	if (!err)
		err = MPI_Put(words, (int)n, MPI_UINT64_T, rank, off, (int)n, MPI_UINT64_T, w->win);
	if (!err)
		err = MPI_Win_flush(rank, w->win);
	return end(err);
}

uint64_t **fh_near(fh_window *w) { return w->carried ? NULL : w->direct; }
