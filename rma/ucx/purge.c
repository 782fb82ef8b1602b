//go:build ucx

// Another mend for UCX 1.13. Two that connect to each other by TCP answer each other's wish to do
// so by messages. If the connection fails while such an answer waits to be sent, UCX gives up what
// waits, does not expect that one (its pull request 8175 does), and aborts the process:
//
//	ucp_request.c  Assertion ... failed: ... got REP message
//
// The function below gives up what waits on TCP. The linker finds it first, as it is in the program
// itself. It has UCX do so, but for messages of that kind, which it drops: nobody asks for them any
// more. Nothing else changes.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include <uct/api/uct.h>

typedef void purge(uct_ep_h ep, uct_pending_purge_callback_t drop, void *arg);

static purge *purgeTCP;
static void *connecting; // what sends messages of that kind
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
	*(void **)&purgeTCP = dlsym(RTLD_NEXT, "uct_tcp_ep_pending_purge");
	connecting = dlsym(RTLD_DEFAULT, "ucp_wireup_msg_progress");
}

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
	pthread_once(&once, prepare);
	if (purgeTCP)
		purgeTCP(ep, dropOne, &d);
}
