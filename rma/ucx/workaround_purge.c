//go:build ucx

// A workaround for a fault of UCX 1.13. Two processes that connect by TCP exchange messages for that.
// If the connection fails while such a message waits to be sent, UCX drops all messages that wait, does
// not expect that one (its pull request 8175 does), and aborts the process:
//
//	ucp_request.c  Assertion ... failed: ... got REP message
//
// The function below drops the messages that wait on TCP. It replaces that of UCX, since the linker
// searches the program first. It calls that of UCX for all messages but those of that kind, which
// nobody needs any more. Nothing else changes.

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
