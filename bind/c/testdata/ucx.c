// A program for MPI-DHT on UCX. Usage: mpirun -n RANKS ucx DIRECTORY

#include <LUCX/DHT.h>

#include "dump.h"

static const char *folder;

static int other(ucp_address_t *self, uint64_t length, const void *args, ucx_ep_info_t *info) {
	(void)self, (void)length, (void)args, (void)info;
	return UCX_BCAST_ERR;
}

static int work(void) {
	const ucx_ep_args_mpi_t args = {.comm = workers};
	DHT_init_t init = {.data_size = DATA_WORDS * 8, .key_size = KEY_WORDS * 8,
		.bucket_count = 4000, .hash_func = hash, .bcast_func = UCX_INIT_BSTRAP_MPI,
		.bcast_func_args = &args};
	DHT *table = DHT_create(&init);
	CLAIM(table && table->comm_size == size);
	pairs(table);
	dumps(table, folder);
	uint32_t retries = 77;
	CLAIM(DHT_free(table, &retries) == DHT_SUCCESS && retries < 77);
	init.bcast_func_args = NULL;
	CLAIM(!DHT_create(&init) && strstr(farhash_last_error(), "bcast_func_args"));
	init.bcast_func = other;
	CLAIM(!DHT_create(&init) && strstr(farhash_last_error(), "UCX_INIT_BSTRAP_MPI"));
	return 1;
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	folder = argc > 1 ? argv[1] : ".";
	employ(work);
	MPI_Finalize();
	return 0;
}
