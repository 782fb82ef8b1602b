//go:build mpi

// Ranks that join and leave. A rank that leaves sends a message to all others, so that a rank
// which waits in a collective call learns that another one will never make it.

#include <sched.h>
#include <stdlib.h>

#include "shim.h"
#include "internal.h"

enum { GROUP = 4712, ROLL = 4713 }; // tags

// fh_join makes a job of the processes of a communicator, given by its Fortran handle, a collective
// call that fh_meet ends; or at once of the first ranks of the world.
int fh_join(int handle, int ranks, fh_job **out) {
	fh_job *job = fr_calloc(1, sizeof *job);
	fh_lock();
	MPI_Comm comm = MPI_Comm_f2c(handle);
	int err;
	MPI_Comm_rank(comm, &job->rank);
	MPI_Comm_size(comm, &job->size);
	job->meeting = MPI_REQUEST_NULL;
	if (ranks)
		job->size = ranks;
	job->left = fr_calloc(job->size, sizeof *job->left);
	job->leaves = fr_calloc(job->size, sizeof *job->leaves);
	job->poked = fr_calloc(job->size, sizeof *job->poked);
	fh_open_messages(job);
	if (ranks) {
		int range[1][3] = {{0, ranks - 1, 1}};
		MPI_Group world, group;
		MPI_Comm_group(MPI_COMM_WORLD, &world);
		MPI_Group_range_incl(world, 1, range, &group);
		err = MPI_Comm_create_group(MPI_COMM_WORLD, group, GROUP, &job->comm);
		MPI_Group_free(&group);
		MPI_Group_free(&world);
	} else {
		err = MPI_Comm_idup(comm, &job->comm, &job->meeting);
	}
	fh_unlock();
	*out = job;
	return err;
}

// fh_call_roll tells the other processes of a communicator that this one waits for them to join.
int fh_call_roll(int handle) {
	MPI_Comm comm = MPI_Comm_f2c(handle);
	int rank, size, err = 0;
	fh_lock();
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int r = 0; r < size && !err; r++) {
		MPI_Request sent;
		if (r != rank)
			err = MPI_Isend(NULL, 0, MPI_BYTE, r, ROLL, comm, &sent);
		if (r != rank && !err)
			err = MPI_Request_free(&sent);
	}
	fh_unlock();
	return err;
}

// fh_hear_roll marks the processes that have said so.
int fh_hear_roll(int handle, uint8_t *present) {
	MPI_Comm comm = MPI_Comm_f2c(handle);
	MPI_Status status;
	int err, found = 1;
	fh_lock();
	while (!(err = MPI_Iprobe(MPI_ANY_SOURCE, ROLL, comm, &found, &status)) && found) {
		err = MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, ROLL, comm, MPI_STATUS_IGNORE);
		if (err)
			break;
		present[status.MPI_SOURCE] = 1;
	}
	fh_unlock();
	return err;
}

int fh_rank(const fh_job *job) { return job->rank; }
int fh_size(const fh_job *job) { return job->size; }

int fh_barrier(fh_job *job) {
	fh_lock();
	int err = MPI_Ibarrier(job->comm, &job->meeting);
	fh_unlock();
	return err;
}

int fh_gather(fh_job *job, const uint64_t *mine, uint64_t *all, int words) {
	fh_lock();
	int err = MPI_Iallgather(mine, words, MPI_UINT64_T, all, words, MPI_UINT64_T, job->comm,
		&job->meeting);
	fh_unlock();
	return err;
}

int fh_least(fh_job *job, const uint64_t *mine, uint64_t *least, int words) {
	fh_lock();
	int err = MPI_Iallreduce(mine, least, words, MPI_UINT64_T, MPI_MIN, job->comm,
		&job->meeting);
	fh_unlock();
	return err;
}

// attend is called at the end of the first collective call, which made the communicator.
static int attend(fh_job *job) {
	fh_attend(job);
	return MPI_Comm_set_errhandler(job->comm, MPI_ERRORS_RETURN);
}

// fh_meet waits a little for the end of the collective call under way: FH_PENDING if it
// has not come, FH_GONE and the rank if it never will.
int fh_meet(fh_job *job, int spins, int *goneRank) {
	*goneRank = -1;
	for (;; sched_yield()) {
		int done = 0;
		fh_lock_to_wait();
		int err = MPI_Test(&job->meeting, &done, MPI_STATUS_IGNORE);
		if (!err && done)
			err = job->ended++ == 0 ? attend(job) : 0;
		else if (!err && job->ended > 0)
			err = fh_receive(job);
		// A rank may have left after the call ended there and not yet here.
		for (int r = job->size - 1; r >= 0 && !err && !done; r--)
			if (job->left[r] && job->left[r] <= job->ended + 1)
				*goneRank = r;
		fh_unlock();
		if (err || done)
			return err;
		if (*goneRank >= 0)
			return FH_GONE;
		if (spins-- <= 0)
			return FH_PENDING;
	}
}

// fh_leave announces to all others that this rank makes no further collective call.
int fh_leave(fh_job *job) {
	int err = 0;
	fh_lock();
	job->leaving = job->ended + 1;
	for (int r = 0; r < job->size; r++) {
		job->leaves[r] = MPI_REQUEST_NULL;
		if (r != job->rank && !err)
			err = MPI_Isend(&job->leaving, 1, MPI_UINT64_T, r, FH_LEAVE, job->comm,
				&job->leaves[r]);
	}
	fh_unlock();
	return err;
}

// fh_all_left is FH_PENDING while a rank is still there.
int fh_all_left(fh_job *job) {
	int sent = 0;
	fh_lock();
	int err = fh_receive(job);
	if (!err)
		err = MPI_Testall(job->size, job->leaves, &sent, MPI_STATUSES_IGNORE);
	int all = sent && job->leftRanks == job->size - 1 && fh_is_settled(job);
	fh_unlock();
	return err ? err : all ? 0 : FH_PENDING;
}

// fh_free_job is collective. The rest of a job stays for queues that outlive it.
int fh_free_job(fh_job *job) {
	fh_lock();
	fh_forget(job);
	job->gone = 1;
	fh_close_messages(job);
	int err = MPI_Comm_free(&job->comm);
	fh_unlock();
	return err;
}
