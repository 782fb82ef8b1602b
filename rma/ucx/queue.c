//go:build ucx

// Queues as Go has them: they are made, submit what was posted, wait for it, and end.

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim.h"
#include "internal.h"

enum {
	BURST = 16,   // calls of progress, as long as there is some, in a row
	SLEEP_MS = 10, // until a thread that sleeps returns to Go
};

fu_op **fu_ops(fu_queue *q) { return q->ops; }

int32_t *fu_ring(fu_queue *q) { return q->ring; }

static void freeQueue(fu_queue *q) {
	free(q->touched);
	free(q->puts);
	free(q->ring);
	free(q->ops);
	free(q->made);
	free(q);
}

// fu_new_queue returns NULL where there is no memory for a queue of that depth.
fu_queue *fu_new_queue(fu_job *job, int depth) {
	fu_queue *q = fr_calloc(1, sizeof *q);
	q->job = job;
	q->depth = depth;
	q->made = calloc(depth, sizeof *q->made);
	q->ops = calloc(depth, sizeof *q->ops);
	q->ring = calloc(depth, sizeof *q->ring);
	q->puts = calloc(job->size, sizeof *q->puts);
	q->touched = calloc(job->size, sizeof *q->touched);
	if (!q->made || !q->ops || !q->ring || !q->puts || !q->touched) {
		freeQueue(q);
		return NULL;
	}
	for (int slot = 0; slot < depth; slot++)
		q->ops[slot] = &q->made[slot];
	fr_lock(&job->lock);
	q->next = job->queues;
	job->queues = q;
	pthread_mutex_unlock(&job->lock);
	return q;
}

// fu_submit starts what was posted.
int fu_submit(fu_queue *q, int posts) {
	fr_lock(&q->job->lock);
	if (q->job->gone) {
		pthread_mutex_unlock(&q->job->lock);
		return FH_GONE;
	}
	for (; posts > 0; posts--) {
		fu_op *op = q->ops[q->ring[q->submitted++ % q->depth]];
		op->queue = q;
		op->ticket = NULL;
		op->next = NULL;
		op->waits = 0;
		op->state = FH_WAITING;
	}
	fu_advance(q);
	pthread_mutex_unlock(&q->job->lock);
	return 0;
}

// progressOnce makes some progress, unless another thread does so.
static int progressOnce(fu_queue *q) {
	fu_job *job = q->job;
	if (pthread_mutex_trylock(&job->lock) != 0)
		return 0;
	int err = job->gone ? FH_GONE : 0;
	for (int i = 0; i < BURST && !err && fu_progress(job); i++)
		;
	if (!err && q->started < q->submitted)
		fu_advance(q);
	pthread_mutex_unlock(&job->lock);
	return err;
}

// sleepUntil lets the thread that serves others make progress until an operation is done: FH_PENDING
// if it is not after a while.
static int sleepUntil(fu_queue *q, const fu_op *op) {
	fu_job *job = q->job;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SLEEP_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	fr_lock(&job->lock);
	job->sleepers++;
	int late = 0;
	while (!late && !job->gone && op->state != FH_DONE) {
		if (q->started < q->submitted)
			fu_advance(q);
		if (op->state != FH_DONE)
			late = pthread_cond_timedwait(&job->landed, &job->lock, &until);
	}
	job->sleepers--;
	int err = job->gone ? FH_GONE : op->state == FH_DONE ? 0 : FH_PENDING;
	pthread_mutex_unlock(&job->lock);
	return err;
}

// fu_wait waits a little for an operation: FH_PENDING if it is not done.
int fu_wait(fu_queue *q, int slot, int spins) {
	int err = 0;
	fu_op *op = q->ops[slot];
	if (q->job->oversubscribed && spins > 0)
		return progressOnce(q) ? FH_GONE : sleepUntil(q, op);
	__atomic_fetch_add(&q->job->waits, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&q->job->waiters, 1, __ATOMIC_RELAXED);
	while (!err && __atomic_load_n(&op->state, __ATOMIC_ACQUIRE) != FH_DONE) {
		err = progressOnce(q);
		if (!err && __atomic_load_n(&op->state, __ATOMIC_ACQUIRE) != FH_DONE) {
			if (spins-- <= 0)
				err = FH_PENDING;
			else
				sched_yield();
		}
	}
	__atomic_fetch_sub(&q->job->waiters, 1, __ATOMIC_RELAXED);
	return err;
}

void fu_renew(fu_queue *q, int slot) {
	fr_lock(&q->job->lock);
	fu_op **abandoned = fr_calloc(q->abandonedCount + 1, sizeof *abandoned);
	if (q->abandonedCount > 0)
		memcpy(abandoned, q->abandoned, q->abandonedCount * sizeof *abandoned);
	free(q->abandoned);
	q->abandoned = abandoned;
	q->abandoned[q->abandonedCount++] = q->ops[slot];
	q->ops[slot] = fr_calloc(1, sizeof **q->ops);
	pthread_mutex_unlock(&q->job->lock);
}

// unparkOwn gives up the operations of a queue that wait for a rank to be connected.
static void unparkOwn(fu_queue *q, fu_peer_t *p) {
	for (fu_op **at = &p->parked; *at;) {
		fu_op *op = *at;
		if (op->queue != q) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		op->next = NULL;
		fu_end(op, FH_LOST);
	}
}

// fu_drained makes some progress and reports whether nothing is in flight. Operations that have not
// begun never do.
int fu_drained(fu_queue *q) {
	fr_lock(&q->job->lock);
	q->submitted = q->started;
	for (int r = 0; r < q->job->size; r++)
		unparkOwn(q, &q->job->peers[r]);
	for (int i = 0; i < BURST && q->flying && !q->job->gone; i++)
		fu_progress(q->job);
	int drained = !q->flying || q->job->gone;
	pthread_mutex_unlock(&q->job->lock);
	return drained;
}

// fu_free_queue ends a queue. It is FH_PENDING, and nothing is freed, if UCX may still write
// there.
int fu_free_queue(fu_queue *q) {
	fr_lock(&q->job->lock);
	for (fu_queue **at = &q->job->queues; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	int kept = !q->job->gone && (q->flying || q->orphans);
	pthread_mutex_unlock(&q->job->lock);
	if (kept)
		return FH_PENDING;
	for (int slot = 0; slot < q->depth; slot++)
		if (q->ops[slot] < q->made || q->ops[slot] >= q->made + q->depth)
			free(q->ops[slot]);
	for (int i = 0; i < q->abandonedCount; i++)
		if (q->abandoned[i] < q->made || q->abandoned[i] >= q->made + q->depth)
			free(q->abandoned[i]);
	free(q->abandoned);
	freeQueue(q);
	return 0;
}
