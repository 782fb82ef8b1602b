//go:build ucx

// Operations begin, in order: on memory that this process addresses, as requests, or by UCX once it
// has connected to the rank.

#include "shim.h"
#include "internal.h"

// landPuts takes the answer to a flush.
static void landPuts(fu_op *op, ucs_status_t status) {
	while (op) {
		fu_op *next = op->next; // once it is done it may be used anew
		fu_land(op, status);
		op = next;
	}
}

static void landed(void *request, ucs_status_t status, void *op) {
	ucp_request_free(request);
	fu_land(op, status);
}

static void flushed(void *request, ucs_status_t status, void *op) {
	ucp_request_free(request);
	landPuts(op, status);
}

// fu_orphan gives up what a lost rank has not answered.
void fu_orphan(fu_queue *q, int rank) {
	for (int slot = 0; slot < q->depth; slot++) {
		fu_op *op = q->ops[slot];
		if (op->state != FH_FLYING || op->rank != rank)
			continue;
		fu_unship(op);
		op->orphan = op->waits > 0;
		q->orphans += op->orphan;
		fu_end(op, FH_LOST);
	}
}

// copyDirect does an operation on memory that this process addresses.
static void copyDirect(fu_op *op, uint64_t *there) {
	uint64_t *from = op->kind == FH_PUT ? op->buf : there;
	uint64_t *to = op->kind == FH_PUT ? there : op->buf;
	switch (op->kind) {
	case FH_SWAP:
		op->seen = op->old;
		__atomic_compare_exchange_n(there, &op->seen, op->word, 0, __ATOMIC_SEQ_CST,
			__ATOMIC_SEQ_CST);
		break;
	case FH_ADD:
		op->seen = __atomic_fetch_add(there, op->word, __ATOMIC_SEQ_CST);
		break;
	default:
		for (int64_t i = 0; i < op->words; i++)
			__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE),
				__ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	fu_done(op, 0);
}

// post hands an operation to UCX.
static void *post(fu_op *op, ucp_ep_h ep, ucp_rkey_h rkey) {
	uint64_t there = op->window->bases[op->rank] + (uint64_t)op->off * 8;
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
			UCP_OP_ATTR_FIELD_MEMORY_TYPE,
		.cb.send = landed,
		.user_data = op,
		.memory_type = UCS_MEMORY_TYPE_HOST,
	};
	if (op->kind == FH_GET)
		return ucp_get_nbx(ep, op->buf, op->words * 8, there, rkey, &params);
	if (op->kind == FH_PUT)
		return ucp_put_nbx(ep, op->buf, op->words * 8, there, rkey, &params);
	params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
	params.datatype = ucp_dt_make_contig(8);
	params.reply_buffer = &op->seen;
	if (op->kind == FH_ADD)
		return ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &op->word, 1, there, rkey, &params);
	op->seen = op->word; // the new word goes where the old one comes
	return ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_CSWAP, &op->old, 1, there, rkey, &params);
}

// gone reports whether the target of an operation is lost.
static int gone(const fu_op *op) {
	return fu_target(op)->lost || !op->window->keys[op->rank];
}

// launch posts an operation for a rank that is connected.
static void launch(fu_op *op) {
	fu_queue *q = op->queue;
	ucp_ep_h ep;
	ucp_rkey_h rkey;
	int err = fu_reach(q->job, op->rank, &ep);
	if (!err)
		err = fu_unlock_key(op->window, op->rank, &rkey);
	if (err) {
		fu_end(op, err);
		return;
	}
	op->waits = 1;
	void *request = post(op, ep, rkey);
	if (UCS_PTR_IS_ERR(request)) {
		fu_land(op, UCS_PTR_STATUS(request));
		return;
	}
	if (op->kind != FH_PUT) {
		if (!request)
			fu_land(op, UCS_OK);
		return;
	}
	op->waits += request != NULL;
	op->next = q->puts[op->rank];
	if (!op->next)
		q->touched[q->touches++] = op->rank;
	q->puts[op->rank] = op;
}

// fu_unpark continues the operations that waited for a rank to be connected.
void fu_unpark(fu_peer_t *p) {
	fu_op *op = p->parked;
	p->parked = NULL;
	while (op) {
		fu_op *next = op->next;
		op->next = NULL;
		if (p->connected && !gone(op))
			launch(op);
		else
			fu_end(op, p->fault && !fu_is_loss(p->fault) ? p->fault : FH_LOST);
		op = next;
	}
}

static void start(fu_queue *q, int slot) {
	fu_op *op = q->ops[slot];
	uint64_t *direct = op->window->direct[op->rank];
	if (gone(op)) {
		fu_done(op, FH_LOST);
		return;
	}
	if (op->kind == FH_SHIP) {
		op->state = FH_FLYING;
		fu_count(q, op, 1);
		fu_ship(op);
		return;
	}
	if (direct && (op->kind <= FH_PUT || op->window->atomics)) {
		copyDirect(op, direct + op->off);
		return;
	}
	op->state = FH_FLYING;
	fu_count(q, op, 1);
	int err = fu_connect(op->window, op->rank);
	if (err == FH_PENDING) {
		fu_peer_t *p = fu_target(op);
		fu_op **at = &p->parked;
		while (*at)
			at = &(*at)->next;
		*at = op;
	} else if (err) {
		fu_end(op, err);
	} else {
		launch(op);
	}
}

// flush asks for the end, at their targets, of the puts that were started.
static void flush(fu_queue *q) {
	for (int i = 0; i < q->touches; i++) {
		int rank = q->touched[i];
		fu_op *first = q->puts[rank];
		q->puts[rank] = NULL;
		ucp_request_param_t params = {
			.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
			.cb.send = flushed,
			.user_data = first,
		};
		ucp_ep_h ep;
		if (fu_reach(q->job, rank, &ep)) {
			landPuts(first, UCS_ERR_CANCELED);
			continue;
		}
		void *request = ucp_ep_flush_nbx(ep, &params);
		if (!UCS_PTR_IS_PTR(request))
			landPuts(first, UCS_PTR_STATUS(request));
	}
	q->touches = 0;
}

// fu_advance starts, in order, what needs not wait for what is in flight.
void fu_advance(fu_queue *q) {
	while (q->started < q->submitted) {
		int slot = q->ring[q->started % q->depth];
		if (fu_clashes(q, q->ops[slot])) {
			flush(q);
			if (fu_clashes(q, q->ops[slot]))
				return;
		}
		q->started++;
		start(q, slot);
	}
	flush(q);
}
