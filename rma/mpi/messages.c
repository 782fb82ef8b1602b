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
	uint8_t lane, ticket;
	uint8_t turn;    // of a request: FH_WHOLE, FH_ASKS, FH_GRANTED or FH_WITHDRAWN
	uint32_t window; // its number
	int32_t words;   // of a request
	int32_t room;    // for the answer, in words; in an answer: 0, or a code; of accesses: the piece
} note;

typedef struct {
	note note;
	uint64_t words[];
} message;

// A parcel is a message that is being sent, or one that has come and its answer.
typedef struct {
	fr_request request; // first: it is what Go has, and lists parcels
	MPI_Request sent;
	int64_t claims;  // bytes of the store that it has
	message *answer; // NULL: it has none, and is itself sent
	message message;
} parcel;

void fh_open_messages(fh_job *job) {
	job->peers = fr_calloc(job->size, sizeof *job->peers);
	for (int r = 0; r < job->size; r++)
		job->peers[r].rank = r;
	fr_limit(&job->store, FH_STORE_BYTES, job->size);
	fr_open(&job->inbox);
}

void fh_serve(fh_job *job) {
	fh_lock();
	job->serves = 1;
	fh_unlock();
}

static void freeParcel(fh_job *job, parcel *p) {
	fr_give_back(&job->store, p->claims);
	free(p->answer);
	free(p);
}

// reap frees the parcels that have been sent.
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
		freeParcel(job, p);
	}
	return 0;
}

static parcel *newParcel(size_t bytes) {
	parcel *p = fr_alloc(sizeof *p + bytes);
	p->claims = 0;
	p->answer = NULL;
	return p;
}

// dispatch sends the answer of a parcel, or the parcel if it has none.
static int dispatch(fh_job *job, parcel *p, int rank, int tag, int words) {
	p->request.next = job->sending;
	job->sending = &p->request;
	return MPI_Isend(p->answer ? p->answer : &p->message, (int)sizeof(note) + words * 8, MPI_BYTE,
		rank, tag, job->comm, &p->sent);
}

// sendNote sends a note alone, or with the words of a request.
static int sendNote(fh_job *job, int rank, int tag, note n, const fh_op *op) {
	int err = reap(job), words = op ? (int)op->words : 0;
	if (err)
		return err;
	parcel *p = newParcel(words * 8);
	p->message.note = n;
	if (op)
		memcpy(p->message.words, op->buf, words * 8);
	return dispatch(job, p, rank, tag, words);
}

// sendShip sends the first request that waits, or asks for room.
static int sendShip(fh_job *job, fh_peer *peer, fr_ticket *t) {
	fh_op *op = peer->waiting[FH_SHIPS];
	int asks = op->words > job->store.unaskedWords;
	peer->waiting[FH_SHIPS] = op->link;
	op->link = NULL;
	t->op = op;
	return sendNote(job, peer->rank, REQUEST, (note){.lane = FH_SHIPS,
		.ticket = t - peer->tickets[FH_SHIPS], .turn = asks ? FH_ASKS : FH_WHOLE,
		.window = op->window->number, .words = (int32_t)op->words, .room = (int32_t)op->room},
		asks ? NULL : op);
}

static int sendAccesses(fh_job *job, fh_peer *peer, fr_ticket *t) {
	int err = reap(job);
	if (err)
		return err;
	parcel *p = newParcel(job->store.unaskedWords * 8);
	p->message.note = (note){.lane = FH_ACCESSES, .ticket = t - peer->tickets[FH_ACCESSES]};
	t->op = peer->waiting[FH_ACCESSES];
	int words = fh_pack_accesses(&peer->waiting[FH_ACCESSES], p->message.words,
		job->store.unaskedWords, &p->message.note.room);
	return dispatch(job, p, peer->rank, REQUEST, words);
}

// sendOn sends what waits for a ticket, in the order in which it came.
static int sendOn(fh_job *job, fh_peer *peer, int lane) {
	while (peer->waiting[lane]) {
		fr_ticket *t = fr_free_ticket(peer->tickets[lane]);
		if (!t)
			return 0;
		t->taken = 1;
		job->tickets++;
		int err = lane == FH_SHIPS ? sendShip(job, peer, t) : sendAccesses(job, peer, t);
		if (err)
			return err;
	}
	return 0;
}

static void giveBack(fh_job *job, fr_ticket *t) {
	t->op = NULL;
	t->taken = 0;
	job->tickets--;
}

// granted sends a request for which there is room now, unless it was given up.
static int granted(fh_job *job, fh_peer *peer, fr_ticket *t, note n) {
	fh_op *op = t->op;
	n.turn = op ? FH_GRANTED : FH_WITHDRAWN;
	n.room = op ? (int32_t)op->room : 0;
	if (!op)
		giveBack(job, t);
	int err = sendNote(job, peer->rank, REQUEST, n, op);
	return err || op ? err : sendOn(job, peer, FH_SHIPS);
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
	if (m->note.lane == FH_SHIPS && m->note.room == FH_GRANT)
		return granted(job, peer, t, m->note);
	giveBack(job, t);
	if (op && m->note.lane == FH_SHIPS) {
		op->error = m->note.room;
		op->seen = words;
		memcpy(op->answer, m->words, words * 8);
		fh_landed(op);
	} else if (op) {
		fh_take_answer(op, m->words, job->store.unaskedWords, m->note.room);
	}
	return sendOn(job, peer, m->note.lane);
}

// grant has the requests sent that there is room for now.
static int grant(fh_job *job) {
	fr_claim *c;
	int err = reap(job);
	while (!err && (c = fr_next_claim(&job->store)))
		err = sendNote(job, c->from, ANSWER, (note){.lane = FH_SHIPS, .ticket = c->ticket,
			.window = c->window, .words = c->words, .room = FH_GRANT}, NULL);
	return err;
}

// claim claims room for a request that has none: FH_PENDING if it has to wait.
static int claim(fh_job *job, int from, const note *n, int64_t bytes) {
	fr_claim *c = &job->peers[from].claims[n->ticket];
	if (n->turn == FH_GRANTED) { // the room is the request's now
		c->state = FH_UNCLAIMED;
		return 0;
	}
	if (n->turn == FH_WITHDRAWN) {
		fr_end_claim(&job->store, c);
		job->unanswered--;
		return FH_PENDING;
	}
	job->unanswered++;
	if (n->turn == FH_WHOLE && fr_claim_now(&job->store, bytes))
		return 0;
	*c = (fr_claim){.bytes = bytes, .window = n->window, .from = from, .words = n->words,
		.ticket = n->ticket};
	fr_claim_later(&job->store, c);
	return FH_PENDING;
}

// asked puts a request into the inbox, if there is room.
static int asked(fh_job *job, int from, parcel *p) {
	note n = p->message.note;
	int64_t bytes = sizeof *p + sizeof *p->answer + ((int64_t)n.words + n.room) * 8;
	if (claim(job, from, &n, bytes)) {
		freeParcel(job, p);
		return grant(job);
	}
	p->claims = bytes;
	p->answer = fr_alloc(sizeof *p->answer + (size_t)n.room * 8);
	p->request = (fr_request){.request = p->message.words, .answer = p->answer->words,
		.words = n.words, .room = n.room, .window = n.window, .from = from};
	fr_put(&job->inbox, &p->request);
	return 0;
}

// access does the operations of a message.
static int access(fh_job *job, int from, parcel *p, int words) {
	p->answer = fr_alloc(sizeof *p->answer + job->store.unaskedWords * 8);
	p->answer->note = p->message.note;
	words = fh_do_accesses(job, p->message.words, words, p->answer->words);
	return dispatch(job, p, from, ANSWER, words);
}

// takeIn takes a message that a probe has found.
static int takeIn(fh_job *job, const MPI_Status *status) {
	int bytes, from = status->MPI_SOURCE, err = reap(job);
	if (!err)
		err = MPI_Get_count(status, MPI_BYTE, &bytes);
	if (err)
		return err;
	parcel *p = newParcel(bytes - sizeof(note));
	err = MPI_Recv(&p->message, bytes, MPI_BYTE, from, status->MPI_TAG, job->comm,
		MPI_STATUS_IGNORE);
	if (err)
		return err;
	int words = (bytes - (int)sizeof(note)) / 8;
	if (status->MPI_TAG == ANSWER) {
		err = answered(job, from, &p->message, words);
		freeParcel(job, p);
		return err;
	}
	fh_heat_for_messages();
	return p->message.note.lane == FH_ACCESSES ? access(job, from, p, words) :
		asked(job, from, p);
}

// fh_receive takes all messages. The probe for them also makes progress.
int fh_receive(fh_job *job) {
	int err = job->store.first ? grant(job) : 0; // answers may have been sent
	while (!err) {
		int there = 0;
		MPI_Status status;
		err = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job->comm, &there, &status);
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
	p->answer->note = p->message.note;
	p->answer->note.room = code;
	fh_lock();
	job->unanswered--;
	// An error comes again where this rank calls MPI.
	if (!dispatch(job, p, p->request.from, ANSWER, words) && job->store.first)
		grant(job);
	fh_unlock();
	fr_answered(&job->inbox);
}

fr_inbox *fh_inbox(fh_job *job) { return &job->inbox; }

void fh_limit(fh_job *job, int64_t bytes) { fr_limit(&job->store, bytes, job->size); }

int fh_stored(fh_job *job, fr_store *now) {
	fh_lock();
	int sound = reap(job) == 0;
	*now = job->store;
	sound &= fr_is_sound(now);
	fh_unlock();
	return sound;
}

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
