//go:build ucx

// Order, and the ends of operations. UCX orders nothing; a queue promises order among operations on
// the same words. So it counts what is in flight by lines, and an operation that may touch words of
// one in flight waits, and with it those posted after it.

#include "shim.h"
#include "internal.h"

enum { WIDE = 512 }; // words from which an operation counts as one on all lines

static uint32_t lineOf(const fu_op *op, int64_t line) {
	uint64_t place = ((uintptr_t)op->window >> 4) * 0x9e3779b97f4a7c15 + (uint64_t)op->rank;
	return (place ^ (uint64_t)line) * 0xff51afd7ed558ccd >> 40 & (FU_LINES - 1);
}

// fu_clashes reports whether an operation may touch words of one in flight, one of them writing.
int fu_clashes(const fu_queue *q, const fu_op *op) {
	if (op->kind == FH_SHIP)
		return 0;
	int writes = op->kind != FH_GET;
	if (q->wideWrites || (writes && q->wideReads))
		return 1;
	if (op->words > WIDE)
		return q->writes || (writes && q->reads);
	for (int64_t l = op->off / 8; l <= (op->off + op->words - 1) / 8; l++) {
		uint32_t i = lineOf(op, l);
		if (q->lineWrites[i] || (writes && q->lineReads[i]))
			return 1;
	}
	return 0;
}

// fu_count enters an operation in flight (1) or takes it out (-1).
void fu_count(fu_queue *q, const fu_op *op, int by) {
	int writes = op->kind != FH_GET, wide = op->words > WIDE;
	q->flying += by;
	if (op->kind == FH_SHIP)
		return;
	*(writes ? &q->writes : &q->reads) += by;
	if (wide) {
		*(writes ? &q->wideWrites : &q->wideReads) += by;
		return;
	}
	uint16_t *lines = writes ? q->lineWrites : q->lineReads;
	for (int64_t l = op->off / 8; l <= (op->off + op->words - 1) / 8; l++)
		lines[lineOf(op, l)] += by;
}

void fu_done(fu_op *op, int error) {
	op->error = error;
	__atomic_store_n(&op->state, FH_DONE, __ATOMIC_RELEASE);
	if (op->queue->job->sleepers)
		pthread_cond_broadcast(&op->queue->job->landed);
}

// fu_return gives back the ticket of an operation that waits for nothing any more.
void fu_return(fu_op *op) {
	if (op->ticket)
		op->ticket->taken = 0;
	op->ticket = NULL;
}

// fu_end ends an operation that waits for no answer of UCX.
void fu_end(fu_op *op, int error) {
	fu_count(op->queue, op, -1);
	fu_done(op, error);
}

// fu_land takes one of the answers that an operation waits for.
void fu_land(fu_op *op, ucs_status_t status) {
	fu_queue *q = op->queue;
	if (status != UCS_OK && !op->error) {
		op->error = status;
		if (fu_is_loss(status)) {
			op->error = FH_LOST;
			fu_fail(&q->job->peers[op->rank]);
		}
	}
	if (--op->waits > 0)
		return;
	fu_return(op);
	if (op->orphan)
		q->orphans--;
	else
		fu_end(op, op->error);
}
