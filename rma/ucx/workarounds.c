//go:build ucx

// Workarounds for UCX 1.13, as in Debian 12, and older: functions that replace some of UCX, since the
// linker searches the program first. They are compiled only with the headers of these versions, and
// change nothing where the program runs with a later library. Where they do not replace UCX's,
// ranks may be lost together with one that was killed.

#define _GNU_SOURCE
#include <ucp/api/ucp.h>

#if UCP_API_VERSION < UCP_VERSION(1, 14)

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ucs/sys/event_set.h>
#include <uct/api/uct.h>

typedef void give_up(void *ep, int status); // later versions pass a status
typedef void send_pending(void *ep);
typedef unsigned go_on(void *ep);
typedef void purge(uct_ep_h ep, uct_pending_purge_callback_t drop, void *arg);
typedef ssize_t send_tcp(uct_ep_h, uint8_t, uct_pack_callback_t, void *, unsigned);

give_up uct_tcp_ep_set_failed;
send_pending uct_tcp_ep_pending_queue_dispatch;
go_on uct_tcp_cm_conn_progress;

static give_up *giveUp;
static send_pending *sendPending;
static go_on *goOn;
static __typeof__(ucs_event_set_wait) *takeEvents;
static purge *purgeTCP;
static send_tcp *sendTCP;
static void *connecting; // sends the messages by which two processes connect
static int isOld;        // the library is older than 1.14
static int is13;         // and is 1.13
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
	unsigned major, minor, release;
	ucp_get_version(&major, &minor, &release);
	isOld = major == 1 && minor < 14;
	is13 = major == 1 && minor == 13;
	*(void **)&giveUp = dlsym(RTLD_NEXT, "uct_tcp_ep_set_failed");
	*(void **)&sendPending = dlsym(RTLD_NEXT, "uct_tcp_ep_pending_queue_dispatch");
	*(void **)&goOn = dlsym(RTLD_NEXT, "uct_tcp_cm_conn_progress");
	*(void **)&takeEvents = dlsym(RTLD_NEXT, "ucs_event_set_wait");
	*(void **)&purgeTCP = dlsym(RTLD_NEXT, "uct_tcp_ep_pending_purge");
	*(void **)&sendTCP = dlsym(RTLD_NEXT, "uct_tcp_ep_am_bcopy");
	connecting = dlsym(RTLD_DEFAULT, "ucp_wireup_msg_progress");
}

static void missing(const char *name) {
	fprintf(stderr, "farhash: rma/ucx: this UCX is loaded in a way that hides its %s; link it as a "
		"shared library\n", name);
	abort();
}

// Makes sure that a function of UCX, which calls it by our name, was found.
#define NEED(function) \
	do { \
		pthread_once(&once, prepare); \
		if (!(function)) \
			missing(__func__); \
	} while (0)

// Of 1.13 alone. When a connection over TCP breaks UCX closes it at once, and then continues what it
// was doing there: it still counts a message as waiting, or waits for events of the closed connection.
// Also, of several events that have come together one may close a connection that another event
// belongs to. In both cases UCX aborts the process:
//
//	wireup_ep.c  Assertion `wireup_ep->pending_count == 0' failed
//	tcp_iface.c  Assertion `ep->conn_state != UCT_TCP_EP_CONN_STATE_CLOSED' failed
//
// The functions below continue a TCP connection that is being made, send the messages that wait,
// close a connection, and take events. With them UCX closes a connection after it has done what it was
// doing there, and drops the events of connections that it has closed since they came.

// A call for a connection in which this thread is, perhaps within another one.
typedef struct doing {
	struct doing *outer;
	void *ep;
	int broken, status;
} doing;

static __thread doing *innermost;

enum { MAX_CLOSED = 256 }; // connections that break at the same time; more are left to UCX

// Events that have come together.
typedef struct {
	ucs_event_set_handler_t take;
	void *arg;
	void *closed[MAX_CLOSED]; // given up since they have come
	int n;
} events;

static __thread events *current;

static void begin(doing *d, void *ep) {
	*d = (doing){.outer = innermost, .ep = ep};
	if (is13)
		innermost = d;
}

static void end(doing *d) {
	if (is13)
		innermost = d->outer;
	if (d->broken)
		uct_tcp_ep_set_failed(d->ep, d->status);
}

void uct_tcp_ep_set_failed(void *ep, int status) {
	for (doing *d = innermost; d; d = d->outer)
		if (d->ep == ep) {
			d->broken = 1;
			d->status = status;
			return;
		}
	NEED(giveUp);
	giveUp(ep, status);
	if (current && current->n < MAX_CLOSED)
		current->closed[current->n++] = ep;
}

void uct_tcp_ep_pending_queue_dispatch(void *ep) {
	doing d;
	NEED(sendPending);
	begin(&d, ep);
	sendPending(ep);
	end(&d);
}

unsigned uct_tcp_cm_conn_progress(void *ep) {
	doing d;
	NEED(goOn);
	begin(&d, ep);
	unsigned progress = goOn(ep);
	end(&d);
	return progress;
}

static void takeOne(void *ep, ucs_event_set_types_t what, void *arg) {
	events *e = arg;
	for (int i = 0; i < e->n; i++)
		if (e->closed[i] == ep)
			return;
	e->take(ep, what, e->arg);
}

ucs_status_t ucs_event_set_wait(ucs_sys_event_set_t *set, unsigned *n, int timeoutMs,
	ucs_event_set_handler_t take, void *arg) {
	events e, *outer = current;
	NEED(takeEvents);
	if (!is13)
		return takeEvents(set, n, timeoutMs, take, arg);
	e.take = take;
	e.arg = arg;
	e.n = 0;
	current = &e;
	ucs_status_t status = takeEvents(set, n, timeoutMs, takeOne, &e);
	current = outer;
	return status;
}

// Two processes that connect by TCP exchange messages for that. If the connection fails while such a
// message waits to be sent, UCX drops all messages that wait, does not expect that one (its pull request
// 8175 does), and aborts the process:
//
//	ucp_request.c  Assertion ... failed: ... got REP message
//
// The function below drops the messages that wait on TCP, by the function of UCX for all kinds but
// this one, which nobody needs any more.

typedef struct {
	uct_pending_purge_callback_t drop;
	void *arg;
} dropping;

static void dropOne(uct_pending_req_t *request, void *arg) {
	const dropping *d = arg;
	if ((void *)request->func != connecting)
		d->drop(request, d->arg);
}

void uct_tcp_ep_pending_purge(uct_ep_h ep, uct_pending_purge_callback_t drop, void *arg) {
	dropping d = {drop, arg};
	NEED(purgeTCP);
	if (isOld)
		purgeTCP(ep, dropOne, &d);
	else
		purgeTCP(ep, drop, arg);
}

// Over TCP, UCX does gets and atomics by software: the owner of the memory answers each with a message.
// A rank that is killed may have several of them in flight to an owner, which handles them together. The
// first answer finds that the connection is broken. The second one fails since the endpoint has failed,
// and UCX then aborts the owner, which has done nothing wrong:
//
//	ucp_request.inl  Fatal: unexpected error: Endpoint timeout
//
// The functions below send such messages: by a failed lane of UCP, and by TCP. Where an endpoint has
// failed the message is packed, so that UCX gets its length, and dropped. Operations that wait for an
// answer to it end when the endpoint is closed.

enum { SCRATCH = 1 << 24 }; // more than any message; only pages that are written take memory

static void *scratch; // never read
static pthread_once_t reserved = PTHREAD_ONCE_INIT;

static void reserve(void) { scratch = malloc(SCRATCH); }

static ssize_t drop(uct_pack_callback_t pack, void *arg) {
	pthread_once(&reserved, reserve);
	return scratch ? (ssize_t)pack(scratch, arg) : UCS_ERR_ENDPOINT_TIMEOUT;
}

// A failed lane calls it for puts as well, where the second argument is a function.
ssize_t ucs_empty_function_return_bc_ep_timeout(uct_ep_h ep, uintptr_t id, uct_pack_callback_t pack,
	void *arg) {
	(void)ep;
	pthread_once(&once, prepare);
	return isOld && id <= UINT8_MAX ? drop(pack, arg) : UCS_ERR_ENDPOINT_TIMEOUT;
}

ssize_t uct_tcp_ep_am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack, void *arg,
	unsigned flags) {
	NEED(sendTCP);
	ssize_t sent = sendTCP(ep, id, pack, arg, flags);
	return isOld && sent == UCS_ERR_ENDPOINT_TIMEOUT ? drop(pack, arg) : sent;
}

#endif
