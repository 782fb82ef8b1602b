//go:build mpi

// Messages of the engines of two ranks. A handler of the owner's program answers a
// request; operations on memory are done by the thread that takes the message (accesses.c), so that
// direct access to the same words is atomic as well. A message and its answer are copied, so that
// nothing of a queue is in use by MPI.

#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

enum {
	POKE = 4713,    // tags
	REQUEST = 4714,
	ANSWER = 4715,
};

// A note goes before the words of every message.
typedef struct {
	int32_t lane, ticket;
	uint32_t window; // its number
	int32_t room;    // for the answer, in words; in an answer: 0, or FH_UNSERVED; of accesses: the piece
} note;

typedef struct {
	note note;
	uint64_t words[FH_SHIP_WORDS];
} message;

// A parcel is a message that is being sent, or one that has come and its answer.
typedef struct {
	fr_request request; // first: it is what Go has, and lists parcels
	MPI_Request sent;
	message in, out;
} parcel;

void fh_open_messages(fh_job *job) {
	job->peers = fr_calloc(job->size, sizeof *job->peers);
	for (int r = 0; r < job->size; r++)
		job->peers[r].rank = r;
	fr_open(&job->inbox);
}

void fh_serve(fh_job *job) {
	fh_lock();
	job->serves = 1;
	fh_unlock();
}

// reap takes the parcels that have been sent.
static int reap(fh_job *job) {
	for (fr_request **at = &job->sending; *at;) {
		parcel *p = (parcel *)*at;
		int sent = 0;
		int err = MPI_Test(&p->sent, &sent, MPI_STATUS_IGNORE);
		if (err)
			return err;
		if (!sent) {
			at = &p->request.next;
			continue;
		}
		*at = p->request.next;
		fr_keep(&job->inbox, &p->request);
	}
	return 0;
}

static int newParcel(fh_job *job, parcel **out) {
	int err = reap(job);
	if (!err)
		*out = fr_parcel(&job->inbox, sizeof **out);
	return err;
}

static int dispatch(fh_job *job, parcel *p, int rank, int tag, int words) {
	p->request.next = job->sending;
	job->sending = &p->request;
	return MPI_Isend(&p->out, (int)sizeof(note) + words * 8, MPI_BYTE, rank, tag, job->comm,
		&p->sent);
}

// packShip fills a parcel with the first request that waits, and returns how many words it is.
static int packShip(fh_peer *peer, fr_ticket *t, message *m) {
	fh_op *op = peer->waiting[FH_SHIPS];
	peer->waiting[FH_SHIPS] = op->link;
	op->link = NULL;
	t->op = op;
	m->note.window = op->window->number;
	m->note.room = op->room;
	memcpy(m->words, op->buf, op->words * 8);
	return op->words;
}

// sendOn sends what waits for a ticket, in the order in which it came.
static int sendOn(fh_job *job, fh_peer *peer, int lane) {
	while (peer->waiting[lane]) {
		parcel *p;
		fr_ticket *t = fr_free_ticket(peer->tickets[lane]);
		int err = t ? newParcel(job, &p) : 0;
		if (err || !t)
			return err;
		t->taken = 1;
		job->tickets++;
		p->out.note = (note){.lane = lane, .ticket = t - peer->tickets[lane]};
		int words;
		if (lane == FH_SHIPS) {
			words = packShip(peer, t, &p->out);
		} else {
			t->op = peer->waiting[lane];
			words = fh_pack_accesses(&peer->waiting[lane], p->out.words, &p->out.note.room);
		}
		if ((err = dispatch(job, p, peer->rank, REQUEST, words)))
			return err;
	}
	return 0;
}

// fh_ask enters an operation that goes by a message. fh_send_news sends it.
void fh_ask(fh_queue *q, fh_job *job, fh_op *op) {
	fh_peer *peer = &job->peers[op->rank];
	int lane = op->kind == FH_SHIP ? FH_SHIPS : FH_ACCESSES;
	op->queue = q;
	op->link = NULL;
	op->byMessage = 1;
	op->packed = op->taken = 0;
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
		if (peer->tickets[FH_SHIPS][i].op == op)
			peer->tickets[FH_SHIPS][i].op = NULL;
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
	fr_ticket *t = &peer->tickets[m->note.lane][m->note.ticket];
	fh_op *op = t->op;
	t->op = NULL;
	t->taken = 0;
	job->tickets--;
	if (op && m->note.lane == FH_SHIPS) {
		op->error = m->note.room;
		op->seen = words;
		memcpy(op->answer, m->words, words * 8);
		fh_landed(op);
	} else if (op) {
		fh_take_answer(op, m->words, m->note.room);
	}
	return sendOn(job, peer, m->note.lane);
}

// asked puts a request into the inbox.
static void asked(fh_job *job, int from, parcel *p, int words) {
	p->request = (fr_request){.request = p->in.words, .answer = p->out.words, .words = words,
		.room = p->in.note.room, .window = p->in.note.window, .from = from};
	job->unanswered++;
	fr_put(&job->inbox, &p->request);
}

// takeIn takes a message that a probe has found.
static int takeIn(fh_job *job, const MPI_Status *status) {
	parcel *p;
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
		fr_keep(&job->inbox, &p->request);
		return err;
	}
	fh_heat_for_messages();
	if (p->in.note.lane == FH_ACCESSES) {
		p->out.note = p->in.note;
		words = fh_do_accesses(job, p->in.words, words, p->out.words);
		return dispatch(job, p, from, ANSWER, words);
	}
	asked(job, from, p, words);
	return 0;
}

// fh_receive takes all messages. The probe for them also makes progress.
int fh_receive(fh_job *job) {
	for (;;) {
		int there = 0;
		MPI_Status status;
		int err = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job->comm, &there, &status);
		if (err || !there)
			return err;
		int from = status.MPI_SOURCE;
		if (status.MPI_TAG == POKE) {
			err = MPI_Recv(NULL, 0, MPI_BYTE, from, POKE, job->comm, MPI_STATUS_IGNORE);
			if (err)
				return err;
			fh_heat();
			continue;
		}
		if (status.MPI_TAG != FH_LEAVE) {
			if ((err = takeIn(job, &status)))
				return err;
			continue;
		}
		err = MPI_Recv(&job->left[from], 1, MPI_UINT64_T, from, FH_LEAVE, job->comm,
			MPI_STATUS_IGNORE);
		if (err)
			return err;
		job->leftRanks++;
	}
}

static fh_job *jobs; // that the owner makes progress for

void fh_attend(fh_job *job) {
	job->next = jobs;
	jobs = job;
}

void fh_forget(fh_job *job) {
	for (fh_job **at = &jobs; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			return;
		}
}

// fh_receive_others takes the messages of all jobs, or of those that serve, except one.
void fh_receive_others(const fh_job *job, int all) {
	for (fh_job *j = jobs; j; j = j->next)
		if (j != job && (all || j->serves))
			fh_receive(j);
}

// fh_receive_all takes the messages of all jobs, and returns an error of this one. Who waits for an
// answer in a job would otherwise keep ranks waiting that ask this one in another job.
int fh_receive_all(fh_job *job) {
	fh_receive_others(job, 0);
	return fh_receive(job);
}

int fh_poll(fh_job *job) {
	if (!fh_try_lock())
		return 0; // the thread that has it makes progress
	fh_entered++;
	int err = job->gone ? FH_GONE : fh_receive_all(job);
	fh_unlock();
	return err;
}

// fh_poke announces to a rank that its memory is in use, so that it makes progress all the time
// for a while; not again while it still does. Leave messages come after. Where no thread owns MPI
// the rank would not receive it.
int fh_poke(fh_job *job, int rank) {
	int64_t now = fh_now();
	if (rank == job->rank || fh_is_passive || now < job->poked[rank])
		return 0;
	job->poked[rank] = now + FH_POKE_NS;
	MPI_Request sent;
	int err = MPI_Isend(NULL, 0, MPI_BYTE, rank, POKE, job->comm, &sent);
	return err ? err : MPI_Request_free(&sent);
}

// fh_answer answers a request, with words if the code is 0. It belongs to C again.
void fh_answer(fh_job *job, void *request, int code, int words) {
	parcel *p = request;
	p->out.note = p->in.note;
	p->out.note.room = code;
	fh_lock();
	job->unanswered--;
	// An error comes again where this rank calls MPI.
	dispatch(job, p, p->request.from, ANSWER, words);
	fh_unlock();
	fr_answered(&job->inbox);
}

fr_inbox *fh_inbox(fh_job *job) { return &job->inbox; }

// fh_is_settled reports whether no message or answer of this rank is on its way. When all others
// have left none can come either: messages of a rank come in order, the one that it leaves last.
int fh_is_settled(fh_job *job) {
	return reap(job) == 0 && !job->sending && !job->tickets && !job->unanswered;
}

// fh_close_messages frees what no queue needs that outlives the job.
void fh_close_messages(fh_job *job) {
	fr_close(&job->inbox);
	free(job->windows);
	job->windows = NULL;
}
