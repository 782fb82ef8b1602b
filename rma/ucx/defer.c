//go:build ucx

// A third mend for UCX 1.13. When a connection over TCP breaks UCX gives it up at once, and then
// goes on with what it was doing there: the message that it was sending is not known to wait no
// more, or the closed connection is watched for events. And of the events that have come together
// one may have a connection closed that another one is of. It aborts the process for either:
//
//	wireup_ep.c  Assertion `wireup_ep->pending_count == 0' failed
//	tcp_iface.c  Assertion `ep->conn_state != UCT_TCP_EP_CONN_STATE_CLOSED' failed
//
// The functions below are how TCP goes on with a connection that is made, how it sends what waits,
// how it gives up, and how events are taken. The linker finds them first, as they are in the
// program itself. They have UCX give up a connection when it has done what it was doing there,
// and forget the events of those that it has given up meanwhile. Nothing else changes, and nothing
// at all in other versions of UCX.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ucp/api/ucp.h>
#include <ucs/sys/event_set.h>

typedef void give_up(void *ep, int status); // later versions pass a status
typedef void send_pending(void *ep);
typedef unsigned go_on(void *ep);

give_up uct_tcp_ep_set_failed;
send_pending uct_tcp_ep_pending_queue_dispatch;
go_on uct_tcp_cm_conn_progress;

static give_up *giveUp;
static send_pending *sendPending;
static go_on *goOn;
static __typeof__(ucs_event_set_wait) *takeEvents;
static int mends; // this version
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
	unsigned major, minor, release;
	ucp_get_version(&major, &minor, &release);
	mends = major == 1 && minor == 13;
	*(void **)&giveUp = dlsym(RTLD_NEXT, "uct_tcp_ep_set_failed");
	*(void **)&sendPending = dlsym(RTLD_NEXT, "uct_tcp_ep_pending_queue_dispatch");
	*(void **)&goOn = dlsym(RTLD_NEXT, "uct_tcp_cm_conn_progress");
	*(void **)&takeEvents = dlsym(RTLD_NEXT, "ucs_event_set_wait");
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

// What a thread is doing at a connection, perhaps while it is doing something else.
typedef struct doing {
	struct doing *outer;
	void *ep;
	int broken, status;
} doing;

static __thread doing *innermost;

enum { CLOSED_MOST = 256 }; // connections that break at once; more are left to UCX

// Events that have come together.
typedef struct {
	ucs_event_set_handler_t take;
	void *arg;
	void *closed[CLOSED_MOST]; // given up since they have come
	int n;
} events;

static __thread events *current;

static void begin(doing *d, void *ep) {
	*d = (doing){.outer = innermost, .ep = ep};
	if (mends)
		innermost = d;
}

static void end(doing *d) {
	if (mends)
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
	if (current && current->n < CLOSED_MOST)
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
	if (!mends)
		return takeEvents(set, n, timeoutMs, take, arg);
	e.take = take;
	e.arg = arg;
	e.n = 0;
	current = &e;
	ucs_status_t status = takeEvents(set, n, timeoutMs, takeOne, &e);
	current = outer;
	return status;
}
