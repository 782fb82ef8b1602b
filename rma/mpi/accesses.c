//go:build mpi

// Operations on memory as the words of a message. The owner of the memory does them in the order in
// which they were posted, with the instructions of its processor.

#include <string.h>

#include "shim.h"
#include "internal.h"

enum {
	JOINED = 64,    // operations in a message at most
	HEAD_WORDS = 2, // of each: kind and place; window and how many words
	SWAP_WORDS = 2, // after them: expected and new word
};

// pieceOf is how many words of an operation that is longer go in a message, which has so many at most.
static int64_t pieceOf(int64_t most) { return most - HEAD_WORDS - SWAP_WORDS; }

// fh_copy copies words that others may use at the same time.
void fh_copy(uint64_t *to, const uint64_t *from, int64_t words) {
	for (int64_t i = 0; i < words; i++)
		__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

uint64_t fh_swap_here(uint64_t *word, int isAdd, uint64_t old, uint64_t newWord) {
	if (isAdd)
		return __atomic_fetch_add(word, newWord, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &old, newWord, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static int64_t asked(const fh_op *op) {
	return HEAD_WORDS + (op->kind == FH_PUT ? op->words : op->kind == FH_GET ? 0 : SWAP_WORDS);
}

static int64_t answered(const fh_op *op) {
	return op->kind == FH_PUT ? 0 : op->kind == FH_GET ? op->words : 1;
}

// pack writes words of an operation from one on, and returns what comes after.
static uint64_t *pack(uint64_t *to, const fh_op *op, int64_t at, int64_t words) {
	to[0] = (uint64_t)(op->off + at) << 2 | op->kind;
	to[1] = (uint64_t)words << 32 | op->window->number;
	to += HEAD_WORDS;
	if (op->kind == FH_GET)
		return to;
	if (op->kind == FH_PUT) {
		memcpy(to, op->buf + at, words * 8);
		return to + words;
	}
	to[0] = op->old;
	to[1] = op->word;
	return to + SWAP_WORDS;
}

// fh_pack_accesses packs what waits first, and returns how many words it is: operations of any
// queues and windows, or a piece of one that is too long for a message. That and its answer have
// most words at most.
int fh_pack_accesses(fh_op **waiting, uint64_t *words, int64_t most, int32_t *piece) {
	int64_t whole = pieceOf(most);
	fh_op *op = *waiting, *last = NULL;
	uint64_t *to = words;
	if (op->words > whole) {
		int64_t left = op->words - op->packed, n = left < whole ? left : whole;
		*piece = (int32_t)(op->packed / whole);
		to = pack(to, op, op->packed, n);
		op->packed += n;
		if (n == left)
			*waiting = op->link;
		return (int)(to - words);
	}
	int64_t room = most;
	for (int n = 0; op && n < JOINED && op->words <= whole; last = op, op = op->link, n++) {
		if (to - words + asked(op) > most || answered(op) > room)
			break;
		room -= answered(op);
		to = pack(to, op, 0, op->words);
	}
	last->link = NULL;
	*waiting = op;
	return (int)(to - words);
}

// fh_do_accesses does what a message asks for, and returns how many words the answer is. In a window
// that is no more it does nothing.
int fh_do_accesses(fh_job *job, const uint64_t *words, int n, uint64_t *answer) {
	uint64_t *to = answer;
	for (const uint64_t *at = words; at < words + n;) {
		int kind = at[0] & 3;
		uint32_t number = (uint32_t)at[1];
		int64_t length = (int64_t)(at[1] >> 32);
		fh_window *w = number < job->opened ? job->windows[number] : NULL;
		uint64_t *mine = w ? w->direct[job->rank] + (at[0] >> 2) : NULL;
		at += HEAD_WORDS;
		if (kind == FH_GET) {
			if (mine)
				fh_copy(to, mine, length);
			to += length;
		} else if (kind == FH_PUT) {
			if (mine)
				fh_copy(mine, at, length);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			at += length;
		} else {
			*to++ = mine ? fh_swap_here(mine, kind == FH_ADD, at[0], at[1]) : 0;
			at += SWAP_WORDS;
		}
	}
	return (int)(to - answer);
}

// fh_take_answer takes the answer to what fh_pack_accesses has packed, from the first operation on.
void fh_take_answer(fh_op *op, const uint64_t *words, int64_t most, int32_t piece) {
	int64_t whole = pieceOf(most);
	if (op->words > whole) {
		int64_t at = (int64_t)piece * whole, left = op->words - at;
		int64_t n = left < whole ? left : whole;
		if (op->kind == FH_GET)
			memcpy(op->buf + at, words, n * 8);
		op->taken += n;
		if (op->taken == op->words)
			fh_landed(op);
		return;
	}
	while (op) {
		fh_op *next = op->link;
		if (op->kind == FH_GET)
			memcpy(op->buf, words, op->words * 8);
		else if (op->kind != FH_PUT)
			op->seen = *words;
		words += answered(op);
		fh_landed(op);
		op = next;
	}
}
