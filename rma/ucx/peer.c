//go:build ucx

// The other ranks: how UCX connects to them.

#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

void fu_peer(fu_job *job, int rank, const void *address, int bytes) {
	job->peers[rank].address = fr_calloc(1, bytes);
	memcpy(job->peers[rank].address, address, bytes);
}

// fu_is_loss reports whether an error means that a rank is gone.
int fu_is_loss(ucs_status_t s) {
	return s == UCS_ERR_CANCELED || s == UCS_ERR_ENDPOINT_TIMEOUT ||
		s == UCS_ERR_CONNECTION_RESET || s == UCS_ERR_UNREACHABLE || s == UCS_ERR_NOT_CONNECTED ||
		s == UCS_ERR_REJECTED || s == UCS_ERR_IO_ERROR;
}

// fu_fail marks a rank as lost. Its endpoint is closed later: this may be a callback of it.
void fu_fail(fu_peer_t *p) {
	__atomic_store_n(&p->lost, 1, __ATOMIC_RELEASE);
	p->job->unclosed = 1;
}

static void failed(void *peer, ucp_ep_h ep, ucs_status_t status) {
	fu_peer_t *p = peer;
	(void)status;
	if (ep == p->ep) // it may be one that was given up
		fu_fail(p);
}

// fu_reach returns the endpoint of a rank.
int fu_reach(fu_job *job, int rank, ucp_ep_h *ep) {
	fu_peer_t *p = &job->peers[rank];
	if (p->lost)
		return FH_LOST;
	if (!p->ep) {
		ucp_ep_params_t params = {
			.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
				UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
			.address = p->address,
			.err_mode = rank == job->rank ? UCP_ERR_HANDLING_MODE_NONE :
				UCP_ERR_HANDLING_MODE_PEER,
			.err_handler = {.cb = failed, .arg = p},
		};
		ucs_status_t s = ucp_ep_create(job->worker, &params, &p->ep);
		if (s != UCS_OK) {
			p->ep = NULL;
			return s;
		}
	}
	*ep = p->ep;
	return 0;
}

// The first operation of an endpoint: a get of a word.
typedef struct {
	fu_peer_t *peer;
	ucp_ep_h ep;
	uint64_t word;
} first_get;

// connectDone takes the end of the first get.
static void connectDone(first_get *g, ucs_status_t status) {
	fu_peer_t *p = g->peer;
	if (p->ep == g->ep) { // otherwise nothing waits for it any more
		p->connecting = 0;
		p->connected = status == UCS_OK;
		p->fault = status;
		if (fu_is_loss(status))
			fu_fail(p);
		p->job->changed = 1;
	}
	free(g);
}

static void landed(void *request, ucs_status_t status, void *g) {
	ucp_request_free(request);
	connectDone(g, status);
}

// fu_connect makes sure that the endpoint of a rank works, by a get from the rank's segment of a
// window: FH_PENDING until it does. No other operation is started before. So none is in flight while
// UCX connects the two, when it could not be cancelled: see abandon.
int fu_connect(fu_window *w, int rank) {
	fu_peer_t *p = &w->job->peers[rank];
	ucp_ep_h ep;
	ucp_rkey_h rkey;
	if (p->connected)
		return 0;
	if (p->connecting)
		return FH_PENDING;
	int err = p->fault;
	if (!err)
		err = fu_reach(w->job, rank, &ep);
	if (!err)
		err = fu_unlock_key(w, rank, &rkey);
	if (err)
		return err;
	first_get *g = fr_calloc(1, sizeof *g);
	*g = (first_get){.peer = p, .ep = ep};
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
			UCP_OP_ATTR_FIELD_MEMORY_TYPE,
		.cb.send = landed,
		.user_data = g,
		.memory_type = UCS_MEMORY_TYPE_HOST,
	};
	void *request = ucp_get_nbx(ep, &g->word, 8, w->bases[rank], rkey, &params);
	p->connecting = 1;
	if (UCS_PTR_IS_PTR(request))
		return FH_PENDING;
	connectDone(g, UCS_PTR_STATUS(request));
	return p->lost ? FH_LOST : p->fault;
}

int fu_lost(fu_job *job, int rank) {
	return __atomic_load_n(&job->peers[rank].lost, __ATOMIC_ACQUIRE);
}

// fu_settled reports whether UCX connects to no rank.
int fu_settled(fu_job *job) {
	int settled = 1;
	fr_lock(&job->lock);
	for (int r = 0; r < job->size; r++)
		settled &= !job->peers[r].connecting || job->peers[r].lost;
	pthread_mutex_unlock(&job->lock);
	return settled;
}
