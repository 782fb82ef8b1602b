//go:build ucx

// A workaround for a fault of UCX 1.13. When a connection over TCP breaks UCX closes it at once, and
// then goes on with what it was doing there: it still counts a message as waiting, or waits for
// events of the closed connection. Also, of several events that have come together one may close a
// connection that another event belongs to. In both cases UCX aborts the process:
//
//	wireup_ep.c  Assertion `wireup_ep->pending_count == 0' failed
//	tcp_iface.c  Assertion `ep->conn_state != UCT_TCP_EP_CONN_STATE_CLOSED' failed
//
// The functions below continue a TCP connection that is being made, send the messages that wait,
// close a connection, and take events. They replace those of UCX, since the linker searches the
// program first. With them UCX closes a connection after it has done what it was doing there, and
// drops the events of connections that it has closed meanwhile. Nothing else changes, and nothing at
// all in other versions of UCX.

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
static int applies; // 1: this version has the fault
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
	unsigned major, minor, release;
	ucp_get_version(&major, &minor, &release);
	applies = major == 1 && minor == 13;
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
	if (applies)
		innermost = d;
}

static void end(doing *d) {
	if (applies)
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
	if (!applies)
		return takeEvents(set, n, timeoutMs, take, arg);
	e.take = take;
	e.arg = arg;
	e.n = 0;
	current = &e;
	ucs_status_t status = takeEvents(set, n, timeoutMs, takeOne, &e);
	current = outer;
	return status;
}
