//go:build ucx

// A workaround for a fault of UCX (seen in 1.13). Over TCP it carries out gets and atomics by
// software: the owner of the memory answers each with a message. A rank that is killed may have
// several of them in flight to an owner, which handles them together. The first answer finds that
// the connection is broken. The second one fails since the endpoint has failed, and UCX then aborts
// the owner, which has done nothing wrong:
//
//	ucp_request.inl  Fatal: unexpected error: Endpoint timeout
//
// The functions below send such messages: by a failed lane of UCP, and by TCP. They replace those of
// UCX, since the linker searches the program first. Where an endpoint has failed the message is
// packed, so that UCX gets its length, and dropped. Operations that wait for an answer to it end
// when the endpoint is closed. Nothing else changes. Where the functions do not replace those of UCX,
// other ranks may be lost together with the one that was killed.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <uct/api/uct.h>

enum { SCRATCH = 1 << 24 }; // more than any message; only pages that are written take memory

static void *scratch; // never read
static ssize_t (*sendTCP)(uct_ep_h, uint8_t, uct_pack_callback_t, void *, unsigned);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
	scratch = malloc(SCRATCH);
	*(void **)&sendTCP = dlsym(RTLD_NEXT, "uct_tcp_ep_am_bcopy");
}

static ssize_t drop(uct_pack_callback_t pack, void *arg) {
	pthread_once(&once, prepare);
	return scratch ? (ssize_t)pack(scratch, arg) : UCS_ERR_ENDPOINT_TIMEOUT;
}

// A failed lane calls it for puts as well, where the second argument is a function.
ssize_t ucs_empty_function_return_bc_ep_timeout(uct_ep_h ep, uintptr_t id, uct_pack_callback_t pack,
	void *arg) {
	(void)ep;
	return id <= UINT8_MAX ? drop(pack, arg) : UCS_ERR_ENDPOINT_TIMEOUT;
}

ssize_t uct_tcp_ep_am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack, void *arg,
	unsigned flags) {
	pthread_once(&once, prepare);
	ssize_t sent = sendTCP ? sendTCP(ep, id, pack, arg, flags) : UCS_ERR_UNSUPPORTED;
	return sent == UCS_ERR_ENDPOINT_TIMEOUT ? drop(pack, arg) : sent;
}
