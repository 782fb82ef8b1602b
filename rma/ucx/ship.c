//go:build ucx

// Requests to the programs of other ranks, and their answers: active messages of UCX with a
// note. Incoming messages are copied, so that no buffers of UCX are kept and all words are aligned.

#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

enum { REQUEST = 1, ANSWER }; // numbers of active messages

// A parcel is a request that has come, and room for its answer: memory of that length, freed when the
// answer is sent.
typedef struct {
	fr_request request; // first: it is what Go has
	fu_job *job;
	int64_t bytes; // that it has claimed
	fu_note note;
	uint64_t words[];
} parcel;

// params are the parameters of a message. Its words are all sent at once, or in pieces that UCX joins.
static ucp_request_param_t params(ucp_send_nbx_callback_t sent, void *of) {
	return (ucp_request_param_t){
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
			UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_FLAGS,
		.cb.send = sent,
		.user_data = of,
		.memory_type = UCS_MEMORY_TYPE_HOST,
		.flags = UCP_AM_SEND_FLAG_EAGER,
	};
}

// left takes the end of sending a request. If it has failed, no answer comes.
static void left(fu_op *op, ucs_status_t status) {
	if (status != UCS_OK && op->ticket && op->ticket->op) {
		op->ticket->op = NULL;
		op->waits--;
	}
	fu_land(op, status);
}

static void requestSent(void *request, ucs_status_t status, void *arg) {
	fu_op *op = arg;
	fu_peer_t *p = fu_target(op);
	ucp_request_free(request);
	left(op, status);
	fu_ship_on(p);
}

// sendWith sends a note, and with it so many words of a request.
static void sendWith(fu_op *op, ucp_ep_h ep, const fu_note *note, int64_t words) {
	ucp_request_param_t with = params(requestSent, op);
	with.flags |= UCP_AM_SEND_FLAG_REPLY;
	void *request = ucp_am_send_nbx(ep, REQUEST, note, sizeof *note, op->buf, words * 8, &with);
	if (!UCS_PTR_IS_PTR(request))
		left(op, UCS_PTR_STATUS(request));
}

static void sendRequest(fu_peer_t *p, fr_ticket *t, fu_op *op) {
	ucp_ep_h ep;
	int err = fu_reach(p->job, p->rank, &ep);
	if (err) {
		fu_end(op, err);
		return;
	}
	t->op = op;
	t->taken = 1;
	int asks = op->words > p->job->store.unaskedWords;
	op->note = (fu_note){.serial = ++p->job->serial, .window = op->window->number,
		.rank = p->job->rank, .ticket = t - p->tickets, .turn = asks ? FH_ASKS : FH_WHOLE,
		.words = op->words, .room = op->room};
	op->again = op->note;
	op->ticket = t;
	op->waits = 2; // for the end of sending and for the answer
	sendWith(op, ep, &op->note, asks ? 0 : op->words);
}

// sendGranted sends a request for which there is room now.
static void sendGranted(fu_peer_t *p, fu_op *op) {
	ucp_ep_h ep;
	if (op->again.turn == FH_GRANTED || fu_reach(p->job, p->rank, &ep))
		return;
	op->again.turn = FH_GRANTED;
	op->waits++;
	sendWith(op, ep, &op->again, op->words);
}

// fu_ship_on sends what waits for a ticket, in the order in which it came, once UCX has
// connected to the rank.
void fu_ship_on(fu_peer_t *p) {
	while (p->waiting) {
		fu_op *op = p->waiting;
		fr_ticket *t = fr_free_ticket(p->tickets);
		int err = p->lost ? FH_LOST : fu_connect(op->window, p->rank);
		if (err == FH_PENDING || (!err && !t))
			return;
		p->waiting = op->next;
		if (err)
			fu_end(op, err);
		else
			sendRequest(p, t, op);
	}
}

// fu_ship sends a request when it is its turn.
void fu_ship(fu_op *op) {
	fu_peer_t *p = fu_target(op);
	*(p->waiting ? &p->last->next : &p->waiting) = op;
	p->last = op;
	fu_ship_on(p);
}

// fu_unship gives up the answer to a request: it is dropped when it comes.
void fu_unship(fu_op *op) {
	if (op->ticket && op->ticket->op) {
		op->ticket->op = NULL;
		op->waits--;
	}
	fu_return(op);
}

// sender reads a note and returns the rank that sent it, or NULL.
static fu_peer_t *sender(fu_job *job, const void *header, size_t bytes, fu_note *n) {
	if (bytes != sizeof *n)
		return NULL;
	memcpy(n, header, sizeof *n);
	if (n->rank < 0 || n->rank >= job->size || n->ticket >= FH_TICKETS)
		return NULL;
	return &job->peers[n->rank];
}

// whole reports whether a message has whole words, at most maxWords.
static int whole(const ucp_am_recv_param_t *param, size_t bytes, int64_t maxWords) {
	return !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) && bytes % 8 == 0 &&
		bytes / 8 <= (size_t)maxWords;
}

// answered takes an answer. Nobody waits for the answer of a rank that was given up.
static ucs_status_t answered(void *arg, const void *header, size_t headerBytes, void *data,
	size_t bytes, const ucp_am_recv_param_t *param) {
	fu_note n;
	fu_peer_t *p = sender(arg, header, headerBytes, &n);
	if (!p)
		return UCS_OK;
	fr_ticket *t = &p->tickets[n.ticket];
	fu_op *op = t->op;
	if (!op || op->note.serial != n.serial)
		return UCS_OK;
	if (n.room == FH_GRANT) {
		sendGranted(p, op);
		return UCS_OK;
	}
	t->op = NULL;
	if (n.room != 0) {
		op->error = n.room == FH_UNSERVED || n.room == FH_LOST ? n.room : FH_GARBLED;
		if (n.room == FH_LOST)
			fu_fail(p);
	} else if (!whole(param, bytes, op->room)) {
		op->error = FH_GARBLED;
	} else {
		memcpy(op->answer, data, bytes);
		op->seen = bytes / 8;
	}
	fu_land(op, UCS_OK);
	fu_ship_on(p);
	return UCS_OK;
}

static void noteSent(void *request, ucs_status_t status, void *note) {
	(void)status;
	ucp_request_free(request);
	free(note);
}

// tell answers a request by a code alone, at an endpoint.
static void tell(fu_job *job, ucp_ep_h ep, uint64_t serial, int ticket, int code) {
	fu_note *note = fr_calloc(1, sizeof *note);
	*note = (fu_note){.serial = serial, .rank = job->rank, .ticket = ticket, .room = code};
	ucp_request_param_t with = params(noteSent, note);
	if (UCS_PTR_IS_PTR(ucp_am_send_nbx(ep, ANSWER, note, sizeof *note, NULL, 0, &with)))
		ucp_worker_signal(job->worker); // the thread sends the rest
	else
		free(note);
}

// refuse answers a request at once.
static void refuse(fu_peer_t *p, ucp_ep_h ep, const fu_note *n, int code) {
	tell(p->job, ep, n->serial, n->ticket, code);
}

// grant has the requests sent that there is room for now. The claims of a lost rank are ended soon.
static void grant(fu_job *job) {
	fr_claim *c;
	ucp_ep_h ep;
	while ((c = fr_next_claim(&job->store)))
		if (!fu_reach(job, c->from, &ep))
			tell(job, ep, c->serial, c->ticket, FH_GRANT);
}

// fu_unclaim ends the claims of a rank that is lost. It may be alive: see answer.
void fu_unclaim(fu_peer_t *p) {
	for (int i = 0; i < FH_TICKETS; i++) {
		fr_claim *c = &p->claims[i];
		if (c->state == FH_UNCLAIMED)
			continue;
		fr_end_claim(&p->job->store, c);
		p->asks--;
		if (p->open)
			tell(p->job, p->open, c->serial, c->ticket, FH_LOST);
	}
	grant(p->job);
}

// drop frees a parcel.
static void drop(parcel *in) {
	fu_job *job = in->job;
	fr_give_back(&job->store, in->bytes);
	free(in);
	grant(job);
}

// lawful reports whether a rank may send a request.
static int lawful(fu_peer_t *p, const fu_note *n, const ucp_am_recv_param_t *param, size_t bytes,
	int64_t claims) {
	const fr_claim *c = &p->claims[n->ticket];
	if (n->room < 0 || n->room > FH_SHIP_WORDS || n->words < 1 || n->words > FH_SHIP_WORDS ||
		!whole(param, bytes, FH_SHIP_WORDS) ||
		bytes / 8 != (size_t)(n->turn == FH_ASKS ? 0 : n->words))
		return 0;
	if (n->turn == FH_GRANTED)
		return c->state == FH_ROOM && c->serial == n->serial && c->bytes == claims;
	return c->state == FH_UNCLAIMED && p->asks < FH_TICKETS;
}

// hasRoom reports whether a request can be stored. Otherwise its claim waits.
static int hasRoom(fu_job *job, fr_claim *c, const fu_note *n, int64_t claims) {
	if (n->turn == FH_GRANTED) { // the room is the request's now
		c->state = FH_UNCLAIMED;
		return 1;
	}
	job->peers[n->rank].asks++;
	if (n->turn == FH_WHOLE && fr_claim_now(&job->store, claims))
		return 1;
	*c = (fr_claim){.serial = n->serial, .bytes = claims, .from = n->rank, .ticket = n->ticket};
	fr_claim_later(&job->store, c);
	grant(job);
	return 0;
}

// asked puts a request into the inbox.
static ucs_status_t asked(void *arg, const void *header, size_t headerBytes, void *data,
	size_t bytes, const ucp_am_recv_param_t *param) {
	fu_job *job = arg;
	fu_note n;
	ucp_ep_h ep; // for the answer: it must exist if the rank is given up before that
	fu_peer_t *p = sender(job, header, headerBytes, &n);
	if (!p || job->gone || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP))
		return UCS_OK;
	if (fu_reach(job, p->rank, &ep)) {
		refuse(p, param->reply_ep, &n, FH_LOST);
		return UCS_OK;
	}
	int64_t claims = sizeof(parcel) + ((int64_t)n.words + n.room) * 8;
	if (!lawful(p, &n, param, bytes, claims)) {
		refuse(p, param->reply_ep, &n, FH_GARBLED);
		return UCS_OK;
	}
	if (!hasRoom(job, &p->claims[n.ticket], &n, claims))
		return UCS_OK;
	parcel *in = fr_calloc(1, claims);
	in->bytes = claims;
	in->request = (fr_request){.request = in->words, .answer = in->words + bytes / 8,
		.words = bytes / 8, .room = n.room, .window = n.window, .from = n.rank};
	in->job = job;
	in->note = n;
	memcpy(in->words, data, bytes);
	fr_put(&job->inbox, &in->request);
	return UCS_OK;
}

// gone takes the end of sending an answer. Where that has failed the other rank is marked as lost.
static void gone(parcel *in, ucs_status_t status) {
	if (status != UCS_OK)
		fu_fail(&in->job->peers[in->request.from]);
	drop(in);
}

static void answerSent(void *request, ucs_status_t status, void *in) {
	ucp_request_free(request);
	gone(in, status);
}

static void answer(parcel *in, int code, int words) {
	fu_job *job = in->job;
	fu_peer_t *p = &job->peers[in->request.from];
	ucp_ep_h ep = p->ep ? p->ep : p->open;
	p->asks--; // the answer may let the next request come while it is sent
	if (p->lost) {
		if (ep) // the rank may be alive; where the endpoint was closed UCX tells it
			refuse(p, ep, &in->note, FH_LOST);
		drop(in);
		return;
	}
	in->note.rank = job->rank;
	in->note.room = code;
	ucp_request_param_t with = params(answerSent, in);
	void *request = ucp_am_send_nbx(ep, ANSWER, &in->note, sizeof in->note, in->request.answer,
		words * 8, &with);
	if (UCS_PTR_IS_PTR(request))
		ucp_worker_signal(job->worker); // the thread sends the rest
	else
		gone(in, UCS_PTR_STATUS(request));
}

// fu_answer answers a request, with words if the code is 0. It belongs to C again.
void fu_answer(fu_job *job, void *request, int code, int words) {
	fr_lock(&job->lock);
	answer(request, code, words);
	pthread_mutex_unlock(&job->lock);
	fr_answered(&job->inbox);
}

fr_inbox *fu_inbox(fu_job *job) { return &job->inbox; }

void fu_limit(fu_job *job, int64_t bytes) { fr_limit(&job->store, bytes, job->size); }

int fu_stored(fu_job *job, fr_store *now) {
	fr_lock(&job->lock);
	*now = job->store;
	int sound = fr_is_sound(now) && (!now->first || now->used + now->first->bytes > now->limit);
	pthread_mutex_unlock(&job->lock);
	return sound;
}

static ucs_status_t handle(fu_job *job, unsigned id, ucp_am_recv_callback_t with) {
	ucp_am_handler_param_t param = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
			UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = id,
		.flags = UCP_AM_FLAG_WHOLE_MSG,
		.cb = with,
		.arg = job,
	};
	return ucp_worker_set_am_recv_handler(job->worker, &param);
}

// fu_open_ships gets ready for requests, before any can come.
int fu_open_ships(fu_job *job) {
	fr_open(&job->inbox);
	ucs_status_t s = handle(job, REQUEST, asked);
	return s == UCS_OK ? handle(job, ANSWER, answered) : s;
}
