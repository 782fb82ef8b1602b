// Jobs of some of the processes of a program. Usage: mpirun -n 4 workers THREADLEVEL

#include "farhash_mpi.h"
#include "try.h"

enum { KEYS = 200 };

static int rank, size;

// table is a cache of the processes of a communicator.
typedef struct {
	MPI_Comm comm;
	farhash_job *job;
	farhash_cache *cache;
	int rank, size;
} table;

static table make(int color, int key) {
	table t = {0};
	farhash_cache_config config = {.key_size = 8, .value_size = 8, .buckets = 1 << 12};
	MPI_Comm_split(MPI_COMM_WORLD, color, key, &t.comm);
	if (t.comm == MPI_COMM_NULL)
		return t;
	MPI_Comm_rank(t.comm, &t.rank);
	MPI_Comm_size(t.comm, &t.size);
	OK(farhash_join_comm(t.comm, NULL, &t.job));
	IS(t.rank, farhash_job_rank(t.job));
	IS(t.size, farhash_job_size(t.job));
	OK(farhash_cache_new(t.job, &config, &t.cache));
	return t;
}

// use has each process put pairs and get the pairs of the next one.
static void use(const table *t, uint64_t salt) {
	if (!t->job)
		return;
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t key = i * t->size + t->rank, value = key ^ salt;
		CLAIM(farhash_cache_put(t->cache, &key, &value) > 0);
	}
	MPI_Barrier(t->comm);
	int hits = 0; // puts that overlap in a bucket may vanish
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t key = i * t->size + (t->rank + 1) % t->size, value = 0;
		int result = farhash_cache_get(t->cache, &key, &value);
		CLAIM(result == FARHASH_MISS || (result == FARHASH_HIT && value == (key ^ salt)));
		hits += result == FARHASH_HIT;
	}
	CLAIM(hits > KEYS * 95 / 100);
	MPI_Barrier(t->comm);
}

static void end(table *t) {
	if (!t->job)
		return;
	OK(farhash_cache_check(t->cache));
	OK(farhash_job_close(t->job));
	MPI_Comm_free(&t->comm);
}

// disjoint has two jobs that have no process in common, and ends one of them early.
static void disjoint(void) {
	table t = make(rank % 2, -rank);
	use(&t, 1);
	if (rank % 2)
		end(&t);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank % 2 == 0) {
		use(&t, 2);
		end(&t);
	}
}

// late has a process use a job while the others wait for it in farhash_join_comm: they answer it.
static void late(const table *t) {
	farhash_set_config config = {.buckets = 1 << 14};
	farhash_set *set;
	farhash_job *job;
	if (!t->job)
		return;
	OK(farhash_set_new(t->job, &config, &set));
	for (uint64_t word = 0; t->rank == 0 && word < KEYS; word++)
		IS(FARHASH_INSERTED, farhash_set_find_or_put(set, word));
	OK(farhash_join_comm(t->comm, NULL, &job));
	for (uint64_t word = 0; word < KEYS; word++)
		IS(FARHASH_FOUND, farhash_set_contains(set, word));
	OK(farhash_job_close(job));
	OK(farhash_set_close(set));
}

// overlapping has two jobs in use at once: all but the last process, and all but the first.
static void overlapping(void) {
	table a = make(rank < size - 1 ? 0 : MPI_UNDEFINED, rank);
	table b = make(rank > 0 ? 0 : MPI_UNDEFINED, -rank);
	use(&a, 1);
	use(&b, 2);
	use(&a, 3);
	late(&a);
	end(&a);
	MPI_Barrier(MPI_COMM_WORLD); // process 0 has no job any more, others have one
	use(&b, 4);
	end(&b);
}

// mastered has a job of the workers, while process 0 receives messages of theirs.
static void mastered(void) {
	table t = make(rank > 0 ? 0 : MPI_UNDEFINED, rank);
	if (rank == 0) {
		int sum = 0, number;
		for (int i = 1; i < size; i++) {
			MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			sum += number;
		}
		IS(size * (size - 1) / 2, sum);
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	use(&t, 1);
	MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	use(&t, 2);
	end(&t);
}

// refused joins what is no intracommunicator.
static void refused(void) {
	MPI_Comm half, both;
	farhash_job *job;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &both);
	FAILS(FARHASH_ERROR_ARGUMENT, "merge it", farhash_join_comm(both, NULL, &job));
	MPI_Comm_free(&both);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
	int level;
	CLAIM(argc >= 2);
	MPI_Init_thread(&argc, &argv, atoi(argv[1]), &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	disjoint();
	overlapping();
	mastered();
	refused();
	table open = make(rank / 2, rank), all = make(0, rank); // MPI_Finalize closes them
	use(&open, 5);
	use(&all, 6);
	MPI_Finalize();
	if (rank == 0)
		puts("all is well");
	fflush(stdout);
	return 0;
}
