/* How programs for MPI-DHT on UCX say which processes a table has. UCX itself is not needed. */
#ifndef FARHASH_LUCX_BOOTSTRAP_H
#define FARHASH_LUCX_BOOTSTRAP_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UCX_BCAST_NOT_RUN -1
#define UCX_BCAST_OK 0
#define UCX_BCAST_ERR 1

typedef struct ucp_address ucp_address_t; /* as ucp/api/ucp_def.h has it */

typedef struct ucx_ep_info {
	ucp_address_t **worker_addr;
	uint32_t comm_size;
	uint32_t self_rank;
} ucx_ep_info_t;

typedef int (*ucx_worker_addr_bootstrap)(ucp_address_t *worker_addr_self,
	uint64_t worker_addr_self_len, const void *func_args, ucx_ep_info_t *endpoint_info);

/* What bcast_func_args points to with UCX_INIT_BSTRAP_MPI. */
typedef struct ucx_ep_args_mpi {
	MPI_Comm comm;
} ucx_ep_args_mpi_t;

/* ucx_worker_bootstrap_mpi stands for itself in DHT_init_t, and does nothing: it returns
 * UCX_BCAST_NOT_RUN. Other functions are refused by DHT_create. */
extern int ucx_worker_bootstrap_mpi(ucp_address_t *worker_addr_self,
	uint64_t worker_addr_self_len, const void *func_args, ucx_ep_info_t *endpoint_info);

#define UCX_INIT_BSTRAP_MPI ucx_worker_bootstrap_mpi

#ifdef __cplusplus
}
#endif

#endif
