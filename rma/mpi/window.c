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

// lock opens a window of MPI. Collective.
static int lock(fh_window *w, uint64_t *base, int64_t words, uint64_t **mine) {
	int err = make(w->job, base, words, &w->win, mine);
	if (err)
		return err;
	MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
	err = MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win);
	if (!base)
		memset(*mine, 0, words * 8);
	return err ? err : MPI_Win_sync(w->win);
}

// fh_open is collective: a window over memory at base, or, if that is NULL, over memory
// of MPI, which is zeroed. mine is where this rank's segment begins. Numbers rise.
int fh_open(fh_job *job, uint64_t *base, int64_t words, uint32_t number, int carried,
	fh_window **out, uint64_t **mine) {
	fh_window *w = fr_calloc(1, sizeof *w);
	int err = 0;
	w->job = job;
	w->number = number;
	w->carried = carried;
	w->direct = fr_calloc(job->size, sizeof *w->direct);
	if (carried) {
		w->memory = base ? NULL : fr_calloc(words, 8);
		*mine = w->direct[job->rank] = base ? base : w->memory;
	}
	fh_lock();
	if (!carried)
		err = lock(w, base, words, mine);
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
	if (w->carried)
		return 1;
	fh_lock();
	MPI_Win_get_attr(w->win, MPI_WIN_MODEL, &model, &there);
	fh_unlock();
	return there && *model == MPI_WIN_UNIFIED;
}

void fh_coherent(fh_window *w) { w->coherent = 1; }

void fh_direct(fh_window *w, int rank, uint64_t *base) { w->direct[rank] = base; }

// fh_close is collective, and ends what is in flight.
int fh_close(fh_window *w) {
	int err = 0;
	fh_lock();
	if (!w->carried)
		err = MPI_Win_unlock_all(w->win);
	if (!w->carried && !err)
		err = MPI_Win_free(&w->win);
	w->job->windows[w->number] = NULL;
	fh_unlock();
	free(w->memory);
	free(w->direct);
	free(w);
	return err;
}
