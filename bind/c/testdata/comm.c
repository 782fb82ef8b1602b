// Tables of the processes of a communicator, in a program that uses MPI itself.
// Usage: mpirun -n RANKS comm DIRECTORY THREADLEVEL early|late

#include "farhash_mpi.h"
#include "tables.h"

static void join(MPI_Comm comm, farhash_job **job) {
	int rank, size;
	OK(farhash_join_comm(comm, NULL, job));
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	IS(rank, farhash_job_rank(*job));
	IS(size, farhash_job_size(*job));
}

// refused has one rank after the other give arguments that make no sense: it is an error of all.
static void refused(int rank, int size) {
	farhash_job *job;
	for (int wrong = 0; wrong < size; wrong++) {
		farhash_options options = {.timeout_seconds = rank == wrong ? -3 : 1};
		char who[32];
		snprintf(who, sizeof who, "rank %d failed", wrong);
		int code = farhash_join_comm(MPI_COMM_WORLD, &options, &job);
		IS(rank == wrong ? FARHASH_ERROR_ARGUMENT : FARHASH_ERROR_RANK, code);
		CLAIM(!job && strstr(farhash_last_error(), "timeout_seconds is -3"));
		CLAIM(rank == wrong || strstr(farhash_last_error(), who));
		code = farhash_join_comm(MPI_COMM_WORLD, NULL, rank == wrong ? NULL : &job);
		IS(rank == wrong ? FARHASH_ERROR_ARGUMENT : FARHASH_ERROR_RANK, code);
		CLAIM(strstr(farhash_last_error(), "NULL"));
	}
}

int main(int argc, char **argv) {
	int rank, size, level;
	farhash_job *job, *half, *self;
	farhash_cache *cache;
	farhash_cache_config config = {.key_size = 80, .value_size = 104, .buckets = 1 << 10};
	char key[80], value[104];
	CLAIM(argc == 4);
	FAILS(FARHASH_ERROR, "MPI_Init", farhash_join_comm(MPI_COMM_WORLD, NULL, &job));
	CLAIM(strlen(farhash_mpi_library()) > 0);
	MPI_Init_thread(&argc, &argv, atoi(argv[2]), &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	FAILS(FARHASH_ERROR_ARGUMENT, "MPI_COMM_NULL", farhash_join_comm(MPI_COMM_NULL, NULL, &job));
	refused(rank, size);
	join(MPI_COMM_WORLD, &job);
	try_tables(job, argv[1]);
	int everywhere = getenv("FARHASH_ENGINE") != NULL;
	if (everywhere) { // memory that is not direct, as on another host
		farhash_options hidden = {.one_sided = 1};
		int carried = level == MPI_THREAD_MULTIPLE;
		OK(farhash_join_comm(MPI_COMM_WORLD, &hidden, &half));
		try_access(half, carried ? FARHASH_SHIPPED : FARHASH_ONE_SIDED, carried);
		OK(farhash_job_close(half));
	}
	// Communicators in reverse order, of half the processes, and of one.
	MPI_Comm halves;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
	join(halves, &half);
	join(MPI_COMM_SELF, &self);
	char path[4096];
	snprintf(path, sizeof path, "%s/half-%d", argv[1], rank % 2);
	try_set(half, path);
	snprintf(path, sizeof path, "%s/self-%d", argv[1], rank);
	try_set(self, path);
	MPI_Comm_free(&halves);
	OK(farhash_job_close(self));
	if (strcmp(argv[3], "late") == 0) // else when MPI is finalised, with the first job
		OK(farhash_job_close(half));
	OK(farhash_cache_new(job, &config, &cache));
	fill(key, sizeof key, rank);
	CLAIM(farhash_cache_put(cache, key, value) > 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (strcmp(argv[3], "late") == 0) {
		OK(farhash_cache_close(cache));
		OK(farhash_job_close(job));
		MPI_Finalize();
	} else {
		MPI_Finalize();
		int want = everywhere ? FARHASH_ERROR_CLOSED : FARHASH_HIT;
		IS(want, farhash_cache_get(cache, key, value));
		IS(everywhere ? FARHASH_ERROR_CLOSED : FARHASH_OK, farhash_job_close(job));
	}
	FAILS(FARHASH_ERROR, "finalised", farhash_join_comm(MPI_COMM_WORLD, NULL, &job));
	if (rank == 0)
		puts("all is well");
	return 0;
}
