//go:build mpi || ucx

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "remote.h"

enum { LOCK_TRIES = 1000 };

fr_ticket *fr_free_ticket(fr_ticket *tickets) {
	for (int i = 0; i < FH_TICKETS; i++)
		if (!tickets[i].taken)
			return &tickets[i];
	return NULL;
}

enum { LEAST_WORDS = 16 }; // so long is a message at least that does not ask

void fr_limit(fr_store *s, int64_t bytes, int ranks) {
	int64_t words = bytes / (FH_STORE_BYTES / FH_UNASKED_BYTES) / (FH_TICKETS * 8) / ranks;
	s->limit = bytes;
	s->unaskedWords = words < LEAST_WORDS ? LEAST_WORDS :
		words > FH_SHIP_WORDS ? FH_SHIP_WORDS : words;
}

int fr_claim_now(fr_store *s, int64_t bytes) {
	if (s->first || s->used + bytes > s->limit)
		return 0;
	s->used += bytes;
	return 1;
}

void fr_claim_later(fr_store *s, fr_claim *c) {
	c->next = NULL;
	c->state = FH_CLAIMED;
	*(s->first ? &s->last->next : &s->first) = c;
	s->last = c;
	s->waiting++;
}

fr_claim *fr_next_claim(fr_store *s) {
	fr_claim *c = s->first;
	if (!c || s->used + c->bytes > s->limit)
		return NULL;
	s->first = c->next;
	s->waiting--;
	s->used += c->bytes;
	c->state = FH_ROOM;
	return c;
}

void fr_end_claim(fr_store *s, fr_claim *c) {
	if (c->state == FH_ROOM)
		s->used -= c->bytes;
	fr_claim *before = NULL;
	for (fr_claim *at = s->first; at && c->state == FH_CLAIMED; before = at, at = at->next)
		if (at == c) {
			*(before ? &before->next : &s->first) = c->next;
			if (s->last == c)
				s->last = before;
			s->waiting--;
			break;
		}
	c->state = FH_UNCLAIMED;
}

void fr_give_back(fr_store *s, int64_t bytes) { s->used -= bytes; }

int fr_is_sound(const fr_store *s) {
	int waiting = 0;
	for (const fr_claim *c = s->first; c; c = c->next)
		waiting++;
	return waiting == s->waiting && s->used >= 0 && s->used <= s->limit;
}

void fr_open(fr_inbox *in) {
	pthread_mutex_init(&in->lock, NULL);
	pthread_cond_init(&in->news, NULL);
}

// It wakes the thread that waits for requests if no other one takes it: the one that answers a
// request now takes the next one itself.
void fr_put(fr_inbox *in, fr_request *r) {
	r->next = NULL;
	pthread_mutex_lock(&in->lock);
	*(in->first ? &in->last->next : &in->first) = r;
	in->last = r;
	if (!in->handling && !in->helpers)
		pthread_cond_signal(&in->news);
	pthread_mutex_unlock(&in->lock);
}

fr_request *fr_take(fr_inbox *in, int wait) {
	pthread_mutex_lock(&in->lock);
	while (wait && !in->dismissed && (!in->first || in->handling))
		pthread_cond_wait(&in->news, &in->lock);
	fr_request *r = in->handling || in->dismissed ? NULL : in->first;
	if (r) {
		in->first = r->next;
		in->handling = 1;
	}
	pthread_mutex_unlock(&in->lock);
	return r;
}

void fr_answered(fr_inbox *in) {
	pthread_mutex_lock(&in->lock);
	in->handling = 0;
	pthread_mutex_unlock(&in->lock);
}

// Helpers answer the requests that come while they wait, and all that there are afterwards: to wake
// another thread takes longer.
void fr_help(fr_inbox *in, int more) {
	pthread_mutex_lock(&in->lock);
	in->helpers += more;
	pthread_mutex_unlock(&in->lock);
}

int fr_is_asked(fr_inbox *in) {
	return __atomic_load_n(&in->first, __ATOMIC_RELAXED) &&
		!__atomic_load_n(&in->handling, __ATOMIC_RELAXED);
}

void fr_dismiss(fr_inbox *in) {
	pthread_mutex_lock(&in->lock);
	in->dismissed = 1;
	pthread_cond_broadcast(&in->news);
	pthread_mutex_unlock(&in->lock);
}

void fr_close(fr_inbox *in) {
	while (in->first) {
		fr_request *r = in->first;
		in->first = r->next;
		free(r);
	}
}

static void *checked(void *memory, size_t count, size_t bytes) {
	if (memory || !count || !bytes)
		return memory;
	fprintf(stderr, "rma: no memory for %zu times %zu bytes; give the job more, or fewer ranks\n",
		count, bytes);
	_exit(1);
}

void *fr_calloc(size_t count, size_t bytes) { return checked(calloc(count, bytes), count, bytes); }

void *fr_alloc(size_t bytes) { return checked(malloc(bytes), 1, bytes); }

void fr_lock(pthread_mutex_t *lock) {
	for (int i = 0; pthread_mutex_trylock(lock) != 0; i++)
		if (i == LOCK_TRIES) {
			pthread_mutex_lock(lock);
			return;
		}
}

int fr_start(pthread_t *thread, void *(*run)(void *), void *arg) {
	sigset_t all, before;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGFPE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
