//go:build mpi

// Messages of the engines of two ranks. A request is carried out by a handler of the owner's
// program; atomics are carried out here, by the thread that takes the message, with the
// instructions of its processor, so that direct access to the same words is atomic as well.
// A message and its answer are copied, so that nothing of a queue is in use by MPI.

#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

enum {
	REQUEST = 4714, // tags
	ANSWER = 4715,
	JOINED = 64,    // atomics in a message at most
	SWAP_WORDS = 4, // each of them: place, window, expected word, new word or what is added
};

// A note goes before the words of every message.
typedef struct {
	int32_t lane, ticket;
	uint32_t window; // its number
	int32_t room;    // for the answer, in words; in an answer: 0, or FH_UNSERVED
} note;

typedef struct {
	note note;
	uint64_t words[FH_SHIP_WORDS];
} message;

// A parcel is a message that is being sent, or one that has come and its answer.
struct fh_parcel {
	fh_request request; // first: it is what Go has
	fh_parcel *next;    // in the inbox, among those that are being sent, or the spare ones
	MPI_Request sent;
	message in, out;
};

void fh_open_messages(fh_job *job) {
	job->peers = fh_calloc(job->size, sizeof *job->peers);
	for (int r = 0; r < job->size; r++)
		job->peers[r].rank = r;
	pthread_mutex_init(&job->inboxLock, NULL);
	pthread_cond_init(&job->inboxNews, NULL);
}

void fh_serve(fh_job *job) {
	fh_lock();
	job->serves = 1;
	fh_unlock();
}

static void keep(fh_job *job, fh_parcel *p) {
	p->next = job->spare;
	job->spare = p;
}

// reap takes the parcels that have been sent.
static int reap(fh_job *job) {
	for (fh_parcel **at = &job->sending; *at;) {
		fh_parcel *p = *at;
		int sent = 0;
		int err = MPI_Test(&p->sent, &sent, MPI_STATUS_IGNORE);
		if (err)
			return err;
		if (!sent) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		keep(job, p);
	}
	return 0;
}

static int newParcel(fh_job *job, fh_parcel **out) {
	int err = reap(job);
	if (err)
		return err;
	*out = job->spare;
	if (*out)
		job->spare = (*out)->next;
	else
		*out = fh_calloc(1, sizeof **out);
	return 0;
}

static int dispatch(fh_job *job, fh_parcel *p, int rank, int tag, int words) {
	p->next = job->sending;
	job->sending = p;
	return MPI_Isend(&p->out, (int)sizeof(note) + words * 8, MPI_BYTE, rank, tag, job->comm,
		&p->sent);
}

// packShip fills a parcel with the first request that waits, and returns how many words it is.
static int packShip(fh_peer *peer, fh_ticket *t, message *m) {
	fh_op *op = peer->waiting[FH_SHIPS];
	peer->waiting[FH_SHIPS] = op->link;
	op->link = NULL;
	t->ops = op;
	m->note.window = op->window->number;
	m->note.room = op->room;
	memcpy(m->words, op->buf, op->words * 8);
	return op->words;
}

// packAtomics does so with all atomics that wait, of any queues and windows, up to JOINED.
static int packAtomics(fh_peer *peer, fh_ticket *t, message *m) {
	int n = 0;
	fh_op *op = peer->waiting[FH_ATOMICS], *last = NULL;
	t->ops = op;
	for (; op && n < JOINED; last = op, op = op->link) {
		uint64_t *to = m->words + SWAP_WORDS * n++;
		to[0] = (uint64_t)op->off << 1 | (op->kind == FH_ADD);
		to[1] = op->window->number;
		to[2] = op->old;
		to[3] = op->word;
	}
	last->link = NULL;
	peer->waiting[FH_ATOMICS] = op;
	return SWAP_WORDS * n;
}

static fh_ticket *freeTicket(fh_peer *peer, int lane) {
	for (int i = 0; i < FH_TICKETS; i++)
		if (!peer->tickets[lane][i].taken)
			return &peer->tickets[lane][i];
	return NULL;
}

// sendOn sends what waits for a ticket, in the order in which it came.
static int sendOn(fh_job *job, fh_peer *peer, int lane) {
	while (peer->waiting[lane]) {
		fh_parcel *p;
		fh_ticket *t = freeTicket(peer, lane);
		int err = t ? newParcel(job, &p) : 0;
		if (err || !t)
			return err;
		t->taken = 1;
		job->tickets++;
		p->out.note = (note){.lane = lane, .ticket = t - peer->tickets[lane]};
		int words = lane == FH_SHIPS ? packShip(peer, t, &p->out) :
			packAtomics(peer, t, &p->out);
		if ((err = dispatch(job, p, peer->rank, REQUEST, words)))
			return err;
	}
	return 0;
}

// fh_ask enters an operation that goes by a message. fh_send_news sends it.
void fh_ask(fh_queue *q, fh_job *job, fh_op *op) {
	fh_peer *peer = &job->peers[op->rank];
	int lane = op->kind == FH_SHIP ? FH_SHIPS : FH_ATOMICS;
	op->queue = q;
	op->link = NULL;
	op->byMessage = 1;
	*(peer->waiting[lane] ? &peer->last[lane]->link : &peer->waiting[lane]) = op;
	peer->last[lane] = op;
	if (!peer->isNews) {
		peer->isNews = 1;
		peer->next = job->news;
		job->news = peer;
	}
}

int fh_send_news(fh_job *job) {
	int err = 0;
	while (job->news && !err) {
		fh_peer *peer = job->news;
		job->news = peer->next;
		peer->isNews = 0;
		for (int lane = 0; lane < FH_LANES && !err; lane++)
			err = sendOn(job, peer, lane);
	}
	return err;
}

// fh_unask gives up the answer to a request.
void fh_unask(fh_job *job, fh_op *op) {
	fh_peer *peer = &job->peers[op->rank];
	for (int i = 0; i < FH_TICKETS; i++)
		if (peer->tickets[FH_SHIPS][i].ops == op)
			peer->tickets[FH_SHIPS][i].ops = NULL;
	fh_op *before = NULL;
	for (fh_op *o = peer->waiting[FH_SHIPS]; o; before = o, o = o->link)
		if (o == op) {
			*(before ? &before->link : &peer->waiting[FH_SHIPS]) = op->link;
			if (peer->last[FH_SHIPS] == op)
				peer->last[FH_SHIPS] = before;
			return;
		}
}

// answered takes an answer. Nobody waits for that to an operation that was given up.
static int answered(fh_job *job, int from, const message *m, int words) {
	fh_peer *peer = &job->peers[from];
	fh_ticket *t = &peer->tickets[m->note.lane][m->note.ticket];
	fh_op *op = t->ops;
	t->ops = NULL;
	t->taken = 0;
	job->tickets--;
	if (op && m->note.lane == FH_SHIPS) {
		op->error = m->note.room;
		op->seen = words;
		memcpy(op->answer, m->words, words * 8);
		fh_landed(op);
		op = NULL;
	}
	for (int i = 0; op; i++) {
		fh_op *next = op->link;
		op->seen = m->words[i];
		fh_landed(op);
		op = next;
	}
	return sendOn(job, peer, m->note.lane);
}

uint64_t fh_swap_here(uint64_t *word, int isAdd, uint64_t old, uint64_t newWord) {
	if (isAdd)
		return __atomic_fetch_add(word, newWord, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &old, newWord, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

// swap carries out the atomics of a message, and answers it.
static int swap(fh_job *job, int from, fh_parcel *p, int words) {
	int n = words / SWAP_WORDS;
	for (int i = 0; i < n; i++) {
		const uint64_t *op = p->in.words + SWAP_WORDS * i;
		uint64_t *mine = job->windows[op[1]]->direct[job->rank];
		p->out.words[i] = fh_swap_here(mine + (op[0] >> 1), op[0] & 1, op[2], op[3]);
	}
	p->out.note = p->in.note;
	return dispatch(job, p, from, ANSWER, n);
}

// asked puts a request into the inbox. It wakes the thread that waits for requests if no other one
// takes it: the one that answers a request now takes the next one itself.
static void asked(fh_job *job, int from, fh_parcel *p, int words) {
	p->request = (fh_request){.request = p->in.words, .answer = p->out.words, .words = words,
		.room = p->in.note.room, .window = p->in.note.window, .from = from};
	p->next = NULL;
	job->unanswered++;
	pthread_mutex_lock(&job->inboxLock);
	*(job->inbox ? &job->inboxLast->next : &job->inbox) = p;
	job->inboxLast = p;
	if (!job->handling && !job->shippers)
		pthread_cond_signal(&job->inboxNews);
	pthread_mutex_unlock(&job->inboxLock);
}

// fh_take_in takes a message that a probe has found.
int fh_take_in(fh_job *job, const MPI_Status *status) {
	fh_parcel *p;
	int bytes, from = status->MPI_SOURCE, err = newParcel(job, &p);
	if (!err)
		err = MPI_Get_count(status, MPI_BYTE, &bytes);
	if (!err)
		err = MPI_Recv(&p->in, sizeof p->in, MPI_BYTE, from, status->MPI_TAG, job->comm,
			MPI_STATUS_IGNORE);
	if (err)
		return err;
	int words = (bytes - (int)sizeof(note)) / 8;
	if (status->MPI_TAG == ANSWER) {
		err = answered(job, from, &p->in, words);
		keep(job, p);
		return err;
	}
	fh_heat_for_messages();
	if (p->in.note.lane == FH_ATOMICS)
		return swap(job, from, p, words);
	asked(job, from, p, words);
	return 0;
}

static fh_request *next(fh_job *job) {
	fh_parcel *p = job->inbox;
	if (!p || job->handling)
		return NULL;
	job->inbox = p->next;
	job->handling = 1;
	return &p->request;
}

fh_request *fh_take(fh_job *job) {
	fh_request *r;
	pthread_mutex_lock(&job->inboxLock);
	while (!(r = next(job)) && !job->dismissed)
		pthread_cond_wait(&job->inboxNews, &job->inboxLock);
	pthread_mutex_unlock(&job->inboxLock);
	return r;
}

fh_request *fh_take_now(fh_job *job) {
	pthread_mutex_lock(&job->inboxLock);
	fh_request *r = next(job);
	pthread_mutex_unlock(&job->inboxLock);
	return r;
}

// fh_shippers enters threads that wait for an answer, or takes them off. They carry out the requests
// that come meanwhile, and all that there are afterwards: to wake another thread takes longer.
void fh_shippers(fh_job *job, int more) {
	pthread_mutex_lock(&job->inboxLock);
	job->shippers += more;
	pthread_mutex_unlock(&job->inboxLock);
}

// fh_is_asked reports whether there is a request and no thread carries one out.
int fh_is_asked(fh_job *job) {
	return __atomic_load_n(&job->inbox, __ATOMIC_RELAXED) &&
		!__atomic_load_n(&job->handling, __ATOMIC_RELAXED);
}

// fh_answer answers a request, with words if the code is 0. It belongs to C again.
int fh_answer(fh_job *job, fh_request *r, int code, int words) {
	fh_parcel *p = (fh_parcel *)r;
	p->out.note = p->in.note;
	p->out.note.room = code;
	fh_lock();
	job->unanswered--;
	int err = dispatch(job, p, r->from, ANSWER, words);
	fh_unlock();
	pthread_mutex_lock(&job->inboxLock);
	job->handling = 0;
	pthread_mutex_unlock(&job->inboxLock);
	return err;
}

void fh_dismiss(fh_job *job) {
	pthread_mutex_lock(&job->inboxLock);
	job->dismissed = 1;
	pthread_cond_broadcast(&job->inboxNews);
	pthread_mutex_unlock(&job->inboxLock);
}

// fh_is_settled reports whether no message or answer of this rank is on its way. When all others
// have left none can come either: messages of a rank come in order, the one that it leaves last.
int fh_is_settled(fh_job *job) {
	return reap(job) == 0 && !job->sending && !job->tickets && !job->unanswered;
}

static void freeAll(fh_parcel *p) {
	while (p) {
		fh_parcel *next = p->next;
		free(p);
		p = next;
	}
}

// fh_close_messages frees what no queue needs that outlives the job.
void fh_close_messages(fh_job *job) {
	freeAll(job->spare);
	free(job->windows);
	job->spare = NULL;
	job->windows = NULL;
}
