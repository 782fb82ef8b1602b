//go:build mpi

// Windows, which are locked for one-sided operations from their creation to their end.

#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

static int make(fh_job *job, uint64_t *base, int64_t words, MPI_Win *win, uint64_t **mine) {
	MPI_Info info;
	int err;
	MPI_Info_create(&info);
	MPI_Info_set(info, "same_disp_unit", "true");
	MPI_Info_set(info, "same_size", "true");
	*mine = base;
	if (base)
		err = MPI_Win_create(base, words * 8, 8, info, job->comm, win);
	else
		err = MPI_Win_allocate(words * 8, 8, info, job->comm, mine, win);
	MPI_Info_free(&info);
	return err;
}

// fh_open is collective: a window over memory at base, or, if that is NULL, over memory
// of MPI, which is zeroed. mine is where this rank's segment begins. Numbers rise.
int fh_open(fh_job *job, uint64_t *base, int64_t words, uint32_t number, fh_window **out,
	uint64_t **mine) {
	fh_window *w = fr_calloc(1, sizeof *w);
	w->job = job;
	w->number = number;
	w->direct = fr_calloc(job->size, sizeof *w->direct);
	fh_lock();
	int err = make(job, base, words, &w->win, mine);
	if (!err) {
		MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
		err = MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win);
		if (!base)
			memset(*mine, 0, words * 8);
		if (!err)
			err = MPI_Win_sync(w->win);
	}
	fh_window **all = fr_calloc(number + 1, sizeof *all);
	if (job->windows)
		memcpy(all, job->windows, job->opened * sizeof *all);
	free(job->windows);
	job->windows = all;
	job->opened = number + 1;
	job->windows[number] = err ? NULL : w;
	fh_unlock();
	if (err) {
		free(w->direct);
		free(w);
		return err;
	}
	*out = w;
	return 0;
}

// fh_unified reports whether loads see the results of one-sided operations, and these stores.
int fh_unified(fh_window *w) {
	int *model, there = 0;
	fh_lock();
	MPI_Win_get_attr(w->win, MPI_WIN_MODEL, &model, &there);
	fh_unlock();
	return there && *model == MPI_WIN_UNIFIED;
}

void fh_coherent(fh_window *w) { w->coherent = 1; }

void fh_direct(fh_window *w, int rank, uint64_t *base) { w->direct[rank] = base; }

// fh_close is collective, and ends what is in flight.
int fh_close(fh_window *w) {
	fh_lock();
	int err = MPI_Win_unlock_all(w->win);
	if (!err)
		err = MPI_Win_free(&w->win);
	w->job->windows[w->number] = NULL;
	fh_unlock();
	free(w->direct);
	free(w);
	return err;
}
