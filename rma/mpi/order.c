//go:build mpi

// Order. MPI orders nothing but atomics on one word; a queue promises order among all operations on
// the same words. So an operation that may touch words of one in flight waits for the end of
// everything in flight. Bits say which lines these are.

#include <string.h>

#include "shim.h"
#include "internal.h"
#include "queue.h"

// fh_settle clears the bits of lines once nothing is in flight.
void fh_settle(fh_queue *q) {
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

// fh_landed takes the end of an operation that went by a message.
void fh_landed(fh_op *op) {
	fh_queue *q = op->queue;
	int asked = op->kind != FH_SHIP;
	__atomic_store_n(&op->state, FH_DONE, __ATOMIC_RELEASE);
	q->asks -= asked;
	if (asked)
		fh_settle(q);
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

// fh_clashes reports whether an operation may touch words of one in flight in a way that
// needs order, and if enter is set has it count as in flight.
int fh_clashes(fh_queue *q, const fh_op *op, int enter) {
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
