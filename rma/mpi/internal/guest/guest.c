//go:build mpi

#include <mpi.h>
#include <stdlib.h>

#include "guest.h"

int guest_init(int level) {
	static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
		MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
	int provided;
	return MPI_Init_thread(NULL, NULL, levels[level], &provided);
}

int guest_finalize(void) { return MPI_Finalize(); }

// guest_compute works until a word in memory reaches a value.
void guest_compute(const uint64_t *word, uint64_t until) {
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < until) {
	}
}

// measure does one kind of operation on the last rank's memory, again and again: a get, a
// put, a compare-and-swap, each with a flush. It returns microseconds of one.
static double measure(int kind, MPI_Win win, int target, uint64_t *buf, int words,
		double seconds) {
	uint64_t zero = 0, seen;
	double begin = MPI_Wtime(), now = begin;
	long done = 0;
	for (; now - begin < seconds; now = MPI_Wtime()) {
		for (int i = 0; i < 16; i++, done++) {
			MPI_Aint at = done % 64 * words;
			if (kind == 0)
				MPI_Get(buf, words, MPI_UINT64_T, target, at, words, MPI_UINT64_T, win);
			else if (kind == 1)
				MPI_Put(buf, words, MPI_UINT64_T, target, at, words, MPI_UINT64_T, win);
			else
				MPI_Compare_and_swap(&zero, &zero, &seen, MPI_UINT64_T, target, at, win);
			MPI_Win_flush(target, win);
		}
	}
	return (now - begin) * 1e6 / (double)done;
}

// guest_loop has rank 0 measure while the others wait in MPI_Barrier. Collective. The
// memory is of MPI, or else the program's own.
int guest_loop(int words, int own, double seconds, double micros[3]) {
	int rank, size, err;
	MPI_Aint bytes = (MPI_Aint)words * 64 * 8;
	uint64_t *mine = NULL, *buf = calloc(words, 8);
	MPI_Win win;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (own) {
		mine = calloc(1, bytes);
		err = MPI_Win_create(mine, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	} else {
		err = MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	}
	if (err)
		return err;
	MPI_Win_lock_all(0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int kind = 0; rank == 0 && kind < 3; kind++)
		micros[kind] = measure(kind, win, size - 1, buf, words, seconds);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_unlock_all(win);
	err = MPI_Win_free(&win);
	if (own)
		free(mine);
	free(buf);
	return err;
}

int guest_split(int color, int key, int *comm) {
	MPI_Comm made;
	int err = MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color, key, &made);
	*comm = MPI_Comm_c2f(made);
	return err;
}

int guest_forget(int comm) {
	MPI_Comm made = MPI_Comm_f2c(comm);
	return MPI_Comm_free(&made);
}

int guest_send(int number, int to) {
	return MPI_Send(&number, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
}

int guest_receive(int *number, int from) {
	return MPI_Recv(number, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int guest_move(void *function, void *window, int rank, int64_t off, uint64_t *words, int64_t n) {
	int (*move)(void *, int, int64_t, uint64_t *, int64_t) = function;
	return move(window, rank, off, words, n);
}
