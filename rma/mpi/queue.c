//go:build mpi

// Queues. MPI orders nothing but atomics on one word; a queue promises order among all
// operations on the same words. So an operation that may touch words of one in flight
// waits for the end of everything in flight. Gets to one rank are joined into one call,
// and so are puts. What goes by messages is started here and sent by messages.c.

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

enum {
	JOINED = 64,       // operations in one call at most
	OPEN = 64,         // calls that are being put together
	WIDE = 512,        // words from which an operation has the queue to itself
	MARKS = 1 << 14,   // bits for lines in flight
	TOUCHED = 256,     // of their words that are kept in mind, to clear just these
	CHUNK = 1 << 27,   // words that one call moves at most
};

enum { GETS, PUTS, ATOMICS, CLASSES };

typedef struct {
	fh_window *window;
	int rank, kind, head, n;
} call;

typedef struct {
	fh_window *window;
	int rank;
} target;

struct fh_queue {
	fh_job *job;
	int depth, useRequests, addBySwap;
	uint64_t guess; // what a word holds that is added to again
	fh_op *ops;
	int *posted, posts;
	call open[OPEN];
	int opened; // how many of them have operations
	target *targets; // to be flushed
	int flushes, flushed; // how many; first slot that a flush completes, or -1
	MPI_Request *requests;
	int *heads, *ended, flights; // by request: first slot that it completes
	int wide;
	int asks; // atomics whose answer has not come
	uint64_t calls;
	uint64_t marks[CLASSES][MARKS / 64];
	uint64_t *touched[TOUCHED];
	int touches;
};

// fh_new_queue returns NULL where there is no memory for a queue of that depth.
fh_queue *fh_new_queue(fh_job *job, int depth, int useRequests, int addBySwap) {
	fh_queue *q = fh_calloc(1, sizeof *q);
	q->job = job;
	q->depth = depth;
	q->useRequests = useRequests;
	q->addBySwap = addBySwap;
	q->flushed = -1;
	q->ops = calloc(depth, sizeof *q->ops);
	q->posted = calloc(depth, sizeof *q->posted);
	q->targets = calloc(depth, sizeof *q->targets);
	q->requests = calloc(depth, sizeof *q->requests);
	q->heads = calloc(depth, sizeof *q->heads);
	q->ended = calloc(depth, sizeof *q->ended);
	if (!q->ops || !q->posted || !q->targets || !q->requests || !q->heads || !q->ended) {
		fh_free_queue(q);
		return NULL;
	}
	return q;
}

void fh_free_queue(fh_queue *q) {
	free(q->ended);
	free(q->heads);
	free(q->requests);
	free(q->targets);
	free(q->posted);
	free(q->ops);
	free(q);
}

fh_op *fh_ops(fh_queue *q) { return q->ops; }

uint64_t fh_calls(fh_queue *q) { return q->calls; }

void fh_post(fh_queue *q, int slot) { q->posted[q->posts++] = slot; }

static void complete(fh_queue *q, int slot) {
	while (slot >= 0) {
		q->ops[slot].state = FH_DONE;
		slot = q->ops[slot].next;
	}
}

// settle clears the bits of lines once nothing is in flight.
static void settle(fh_queue *q) {
	if (q->flights || q->flushed >= 0 || q->asks)
		return;
	q->wide = 0;
	if (q->touches > TOUCHED)
		memset(q->marks, 0, sizeof q->marks);
	else
		for (int i = 0; i < q->touches; i++)
			*q->touched[i] = 0;
	q->touches = 0;
}

// mark sets a bit of the lines in flight.
static void mark(fh_queue *q, uint64_t *word, uint64_t bit) {
	if (*word == 0 && q->touches <= TOUCHED) {
		if (q->touches < TOUCHED)
			q->touched[q->touches] = word;
		q->touches++;
	}
	*word |= bit;
}

// flush waits for completion at the target. With MPI_Win_flush_local, osc/pt2pt of Open MPI brings
// the answer of a fetch-and-add before it has happened, and sometimes never returns.
static int flush(fh_queue *q) {
	for (; q->flushes > 0; q->flushes--) {
		target *t = &q->targets[q->flushes - 1];
		int err = MPI_Win_flush(t->rank, t->window->win);
		if (err)
			return err;
	}
	complete(q, q->flushed);
	q->flushed = -1;
	settle(q);
	return 0;
}

// test completes operations whose requests are done.
static int test(fh_queue *q) {
	int n = 0;
	int err = MPI_Testsome(q->flights, q->requests, &n, q->ended, MPI_STATUSES_IGNORE);
	if (err || n == MPI_UNDEFINED || n == 0)
		return err;
	int kept = 0;
	for (int i = 0; i < q->flights; i++) {
		if (q->requests[i] == MPI_REQUEST_NULL) {
			complete(q, q->heads[i]);
			continue;
		}
		q->requests[kept] = q->requests[i];
		q->heads[kept++] = q->heads[i];
	}
	q->flights = kept;
	settle(q);
	return 0;
}

// fh_landed takes the end of an operation that went by a message.
void fh_landed(fh_op *op) {
	fh_queue *q = op->queue;
	int asked = op->kind != FH_SHIP;
	__atomic_store_n(&op->state, FH_DONE, __ATOMIC_RELEASE);
	q->asks -= asked;
	if (asked)
		settle(q);
}

// awaitAnswers waits for those to atomics. The owner may need the lock for its own messages.
static int awaitAnswers(fh_queue *q) {
	int err = q->asks ? fh_send_news(q->job) : 0;
	for (int vain = 0; q->asks && !err;) {
		fh_unlock();
		fh_give_way(vain++);
		fh_lock();
		err = fh_receive(q->job);
	}
	return err;
}

static int drain(fh_queue *q) {
	int err = flush(q);
	if (!err && q->flights)
		err = MPI_Waitall(q->flights, q->requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < q->flights && !err; i++)
		complete(q, q->heads[i]);
	if (!err)
		q->flights = 0;
	settle(q);
	return err ? err : awaitAnswers(q);
}

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

// clashes reports whether an operation may touch words of one in flight in a way that
// needs order, and if enter is set has it count as in flight.
static int clashes(fh_queue *q, const fh_op *op, int enter) {
	int class = op->kind == FH_GET ? GETS : op->kind == FH_PUT ? PUTS : ATOMICS;
	int found = q->wide || op->words > WIDE;
	uint64_t place = ((uintptr_t)op->window >> 4) * 0x9e3779b97f4a7c15 + (uint64_t)op->rank;
	for (int64_t line = op->off / 8; !found && line <= (op->off + op->words - 1) / 8; line++) {
		uint64_t h = (place ^ (uint64_t)line) * 0xff51afd7ed558ccd >> 40;
		uint64_t word = h % MARKS / 64, bit = (uint64_t)1 << h % 64;
		for (int c = 0; c < CLASSES; c++)
			if ((c != class || class == PUTS) && q->marks[c][word] & bit)
				found = 1;
		if (enter)
			mark(q, &q->marks[class][word], bit);
	}
	return found;
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

static int issueAll(fh_queue *q) {
	int err = fh_send_news(q->job);
	for (int i = 0; i < OPEN && q->opened > 0 && !err; i++)
		err = issue(q, &q->open[i]);
	return err;
}

// join adds a get or put to the call to its rank.
static int join(fh_queue *q, int slot) {
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

// copyDirect does a get or put on memory that this process addresses.
static void copyDirect(fh_op *op) {
	uint64_t *there = op->window->direct[op->rank] + op->off;
	uint64_t *from = op->kind == FH_PUT ? op->buf : there;
	uint64_t *to = op->kind == FH_PUT ? there : op->buf;
	for (int64_t i = 0; i < op->words; i++)
		__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE),
			__ATOMIC_RELEASE);
	if (op->kind == FH_PUT)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	op->state = FH_DONE;
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

// atomic starts a compare-and-swap or fetch-and-add.
static int atomic(fh_queue *q, int slot) {
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

static int start(fh_queue *q, int slot) {
	fh_op *op = &q->ops[slot];
	int direct = op->window->direct[op->rank] != NULL &&
		(op->kind <= FH_PUT || op->window->coherent);
	if (op->kind == FH_SHIP) {
		op->state = FH_FLYING;
		fh_ask(q, q->job, op);
		return 0;
	}
	if (clashes(q, op, !direct)) {
		int err = issueAll(q);
		if (!err)
			err = drain(q);
		if (err)
			return err;
		clashes(q, op, !direct);
	}
	op->state = FH_FLYING;
	op->next = -1;
	op->byRequest = 0;
	op->seen = 0;
	if (direct && op->kind <= FH_PUT) {
		copyDirect(op);
		return 0;
	}
	if (direct) {
		op->seen = fh_swap_here(op->window->direct[op->rank] + op->off,
			op->kind == FH_ADD, op->old, op->word);
		op->state = FH_DONE;
		return 0;
	}
	q->wide = op->words > WIDE;
	return op->kind <= FH_PUT ? join(q, slot) : atomic(q, slot);
}

// fh_submit starts what was posted.
int fh_submit(fh_queue *q) {
	fh_lock();
	int err = q->job->gone ? FH_GONE : 0;
	for (int i = 0; i < q->posts && !err; i++)
		err = start(q, q->posted[i]);
	if (!err)
		err = issueAll(q);
	q->posts = 0;
	fh_unlock();
	return err;
}

// awaitAnswer is fh_wait for an operation that goes by a message. Who waits for an answer of a
// program returns early to carry out a request of another one.
static int awaitAnswer(fh_queue *q, const fh_op *op, int spins) {
	int err = 0, ships = op->kind == FH_SHIP && spins > 0, toServe = 0;
	if (ships)
		fh_join_shippers(q->job);
	fh_polling(1);
	for (int vain = 0; !err && !toServe; fh_give_way(vain++)) {
		err = spins-- < 0 ? FH_PENDING : fh_poll(q->job);
		if (__atomic_load_n(&op->state, __ATOMIC_ACQUIRE) == FH_DONE)
			break;
		toServe = ships && fh_is_asked(q->job);
	}
	fh_polling(-1);
	if (ships)
		fh_leave_shippers(q->job, toServe);
	return toServe ? FH_PENDING : err;
}

// fh_wait waits shortly for an operation: FH_PENDING if it is not done.
int fh_wait(fh_queue *q, int slot, int spins) {
	fh_op *op = &q->ops[slot];
	if (op->byMessage)
		return awaitAnswer(q, op, spins);
	for (;; sched_yield()) {
		fh_lock();
		int err = q->job->gone ? FH_GONE : op->byRequest ? test(q) : flush(q);
		fh_unlock();
		if (err || op->state == FH_DONE)
			return err;
		if (spins-- <= 0)
			return FH_PENDING;
	}
}

// fh_drain ends all that is in flight, and gives up the answers to what was shipped.
int fh_drain(fh_queue *q) {
	fh_lock();
	for (int i = 0; i < q->depth; i++)
		if (q->ops[i].kind == FH_SHIP && q->ops[i].state == FH_FLYING)
			fh_unask(q->job, &q->ops[i]);
	int err = q->job->gone ? 0 : drain(q);
	fh_unlock();
	return err;
}
