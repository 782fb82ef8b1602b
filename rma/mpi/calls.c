//go:build mpi

// The calls of MPI of a queue, each for one operation or for several gets or puts to one rank.

#include "shim.h"
#include "internal.h"
#include "queue.h"

enum {
	JOINED = 64,     // operations in one call at most
	CHUNK = 1 << 27, // words that one call moves at most
};

// byFlush enters operations, chained from head, that a flush of their target completes.
static void byFlush(fh_queue *q, fh_window *w, int rank, int head) {
	int last = head;
	while (q->ops[last].next >= 0)
		last = q->ops[last].next;
	q->ops[last].next = q->flushed;
	q->flushed = head;
	for (int i = 0; i < q->flushes; i++)
		if (q->targets[i].window == w && q->targets[i].rank == rank)
			return;
	q->targets[q->flushes++] = (target){w, rank};
}

// move is one call for one operation, in pieces that fit a count of MPI.
static int move(fh_queue *q, fh_op *op) {
	int err = 0;
	for (int64_t at = 0; at < op->words && !err; at += CHUNK) {
		int n = op->words - at < CHUNK ? (int)(op->words - at) : CHUNK;
		if (op->kind == FH_PUT)
			err = MPI_Put(op->buf + at, n, MPI_UINT64_T, op->rank, op->off + at, n,
				MPI_UINT64_T, op->window->win);
		else if (op->byRequest)
			err = MPI_Rget(op->buf + at, n, MPI_UINT64_T, op->rank, op->off + at, n,
				MPI_UINT64_T, op->window->win, &q->requests[q->flights]);
		else
			err = MPI_Get(op->buf + at, n, MPI_UINT64_T, op->rank, op->off + at, n,
				MPI_UINT64_T, op->window->win);
	}
	return err;
}

// moveJoined is one call for all operations chained from head.
static int moveJoined(fh_queue *q, const call *c) {
	int lengths[JOINED], n = 0, err;
	MPI_Aint here[JOINED], there[JOINED];
	MPI_Datatype from, to;
	fh_op *op = &q->ops[c->head];
	uint64_t *base = op->buf;
	for (int slot = op->next; slot >= 0; slot = q->ops[slot].next)
		if (q->ops[slot].buf < base)
			base = q->ops[slot].buf;
	for (int slot = c->head; slot >= 0; slot = q->ops[slot].next, n++) {
		here[n] = (char *)q->ops[slot].buf - (char *)base;
		there[n] = (MPI_Aint)q->ops[slot].off * 8;
		lengths[n] = (int)q->ops[slot].words;
	}
	MPI_Type_create_hindexed(n, lengths, here, MPI_UINT64_T, &from);
	MPI_Type_create_hindexed(n, lengths, there, MPI_UINT64_T, &to);
	MPI_Type_commit(&from);
	MPI_Type_commit(&to);
	if (c->kind == FH_PUT)
		err = MPI_Put(base, 1, from, c->rank, 0, 1, to, c->window->win);
	else
		err = MPI_Get(base, 1, from, c->rank, 0, 1, to, c->window->win);
	MPI_Type_free(&from);
	MPI_Type_free(&to);
	return err;
}

// issue makes a call that was put together.
static int issue(fh_queue *q, call *c) {
	if (c->n == 0)
		return 0;
	fh_op *op = &q->ops[c->head];
	// Of a joined get, the request of MPICH 4.0 is done before the words are there.
	op->byRequest = c->kind == FH_GET && c->n == 1 && q->useRequests && op->words <= CHUNK;
	int err = fh_poke(q->job, c->rank);
	if (!err)
		err = c->n == 1 ? move(q, op) : moveJoined(q, c);
	c->n = 0;
	q->opened--;
	q->calls++;
	if (err)
		return err;
	if (op->byRequest)
		q->heads[q->flights++] = c->head;
	else
		byFlush(q, c->window, c->rank, c->head);
	return 0;
}

int fh_issue_all(fh_queue *q) {
	int err = fh_send_news(q->job);
	for (int i = 0; i < OPEN && q->opened > 0 && !err; i++)
		err = issue(q, &q->open[i]);
	return err;
}

// fh_join_call adds a get or put to the call to its rank.
int fh_join_call(fh_queue *q, int slot) {
	fh_op *op = &q->ops[slot];
	call *c = &q->open[(op->rank * 2 + (op->kind == FH_PUT)) % OPEN];
	if (c->n > 0 && (c->window != op->window || c->rank != op->rank ||
			c->kind != op->kind || c->n == JOINED || op->words > WIDE)) {
		int err = issue(q, c);
		if (err)
			return err;
	}
	q->opened += c->n == 0;
	op->next = c->n > 0 ? c->head : -1;
	*c = (call){op->window, op->rank, op->kind, slot, c->n + 1};
	return 0;
}

// addBySwap is a fetch-and-add of swaps, to its end. osc/pt2pt of Open MPI answers a
// fetch-and-add before it adds, and with one thread it does not exclude others in between.
static int addBySwap(fh_queue *q, fh_op *op) {
	for (;; q->guess = op->seen) {
		uint64_t sum = q->guess + op->word;
		int err = MPI_Compare_and_swap(&sum, &q->guess, &op->seen, MPI_UINT64_T, op->rank,
			op->off, op->window->win);
		if (!err)
			err = MPI_Win_flush(op->rank, op->window->win);
		if (err)
			return err;
		if (op->seen == q->guess) {
			q->guess = sum;
			op->state = FH_DONE;
			return 0;
		}
	}
}

// fh_atomic starts a compare-and-swap or fetch-and-add.
int fh_atomic(fh_queue *q, int slot) {
	fh_op *op = &q->ops[slot];
	if (op->window->coherent) {
		q->asks++;
		fh_ask(q, q->job, op);
		return 0;
	}
	int err = fh_poke(q->job, op->rank);
	if (err)
		return err;
	if (op->kind == FH_SWAP)
		err = MPI_Compare_and_swap(&op->word, &op->old, &op->seen, MPI_UINT64_T, op->rank,
			op->off, op->window->win);
	else if (q->addBySwap)
		return addBySwap(q, op);
	else
		err = MPI_Fetch_and_op(&op->word, &op->seen, MPI_UINT64_T, op->rank, op->off,
			MPI_SUM, op->window->win);
	if (!err)
		byFlush(q, op->window, op->rank, slot);
	return err;
}
