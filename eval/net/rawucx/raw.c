//go:build ucx

// A loop of ucp_get_nbx, as one would write it to see what UCX can do: no lock, no order among
// operations, no other language.

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ucp/api/ucp.h>

#include "raw.h"

enum {
	LINE = 64,  // gets begin at such a place
	BURST = 64, // calls of progress between two checks of other things
	IDLE = 4,   // calls without progress until another thread may run
	POLL_MS = 5,
};

typedef struct {
	ucp_ep_h ep;
	ucp_rkey_h rkey;
	uint64_t base;
} target;

struct raw {
	ucp_context_h context;
	ucp_worker_h worker;
	void *memory;
	int64_t bytes;
	ucp_mem_h handle;
	target *targets;
	int count;
	pthread_t thread;
	int spin, finish;
};

// A get in flight.
typedef struct {
	void *buf;
	int64_t began;
	struct run *run;
} slot;

typedef struct run {
	raw *side;
	slot *slots, **free;
	int idle; // of free
	int64_t *eachNs, done;
	ucs_status_t status;
	uint64_t random;
} run;

const char *raw_text(int code) { return ucs_status_string((ucs_status_t)code); }

static int64_t nowNs(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int start(raw *s) {
	ucp_config_t *config;
	ucs_status_t status = ucp_config_read(NULL, NULL, &config);
	if (status != UCS_OK)
		return status;
	ucp_params_t cp = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP,
	};
	status = ucp_init(&cp, config, &s->context);
	ucp_config_release(config);
	if (status != UCS_OK)
		return status;
	ucp_worker_params_t wp = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SERIALIZED,
	};
	status = ucp_worker_create(s->context, &wp, &s->worker);
	if (status != UCS_OK)
		return status;
	ucp_mem_map_params_t mp = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = s->memory,
		.length = s->bytes,
	};
	return ucp_mem_map(s->context, &mp, &s->handle);
}

// raw_open makes one side, with so many bytes that others get from.
int raw_open(int64_t bytes, raw **side) {
	raw *s = calloc(1, sizeof *s);
	s->bytes = bytes;
	int status = posix_memalign(&s->memory, 4096, bytes) ? UCS_ERR_NO_MEMORY : UCS_OK;
	if (status == UCS_OK) {
		memset(s->memory, 1, bytes);
		status = start(s);
	}
	if (status != UCS_OK)
		raw_close(s);
	else
		*side = s;
	return status;
}

// raw_card writes what others connect by: lengths of the address and of the key, where the
// memory is, the address, the key. It returns the length, or a code below 0.
int raw_card(raw *s, void *to, int most) {
	ucp_address_t *address;
	void *key;
	size_t sizes[2];
	uint64_t base = (uintptr_t)s->memory;
	ucs_status_t status = ucp_worker_get_address(s->worker, &address, &sizes[0]);
	if (status != UCS_OK)
		return status;
	status = ucp_rkey_pack(s->context, s->handle, &key, &sizes[1]);
	int bytes = status;
	if (status == UCS_OK) {
		bytes = sizeof sizes + sizeof base + sizes[0] + sizes[1];
		if (bytes <= most) {
			char *at = to;
			memcpy(at, sizes, sizeof sizes);
			memcpy(at += sizeof sizes, &base, sizeof base);
			memcpy(at += sizeof base, address, sizes[0]);
			memcpy(at + sizes[0], key, sizes[1]);
		} else {
			bytes = UCS_ERR_BUFFER_TOO_SMALL;
		}
		ucp_rkey_buffer_release(key);
	}
	ucp_worker_release_address(s->worker, address);
	return bytes;
}

static void failed(void *arg, ucp_ep_h ep, ucs_status_t status) {
	(void)arg;
	(void)ep;
	(void)status;
}

// raw_connect adds a side to those that gets go to.
int raw_connect(raw *s, const void *card, int bytes) {
	size_t sizes[2];
	target t;
	const char *at = card;
	if ((size_t)bytes < sizeof sizes + sizeof t.base)
		return UCS_ERR_INVALID_PARAM;
	memcpy(sizes, at, sizeof sizes);
	memcpy(&t.base, at += sizeof sizes, sizeof t.base);
	at += sizeof t.base;
	if (sizes[0] + sizes[1] + (at - (const char *)card) != (size_t)bytes)
		return UCS_ERR_INVALID_PARAM;
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
			UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
		.address = (const ucp_address_t *)at,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER, // gets fail then, and do not wait for ever
		.err_handler = {.cb = failed},
	};
	ucs_status_t status = ucp_ep_create(s->worker, &params, &t.ep);
	if (status == UCS_OK)
		status = ucp_ep_rkey_unpack(t.ep, at + sizes[0], &t.rkey);
	if (status != UCS_OK)
		return status;
	s->targets = realloc(s->targets, (s->count + 1) * sizeof t);
	s->targets[s->count++] = t;
	return 0;
}

// serve makes progress for those that get from here, in a loop or as often as there is
// something.
static void *serve(void *arg) {
	raw *s = arg;
	struct pollfd fd = {.events = POLLIN};
	ucp_worker_get_efd(s->worker, &fd.fd);
	while (!__atomic_load_n(&s->finish, __ATOMIC_ACQUIRE)) {
		int more = BURST;
		while (more > 0 && (ucp_worker_progress(s->worker) || s->spin))
			more--;
		if (s->spin)
			sched_yield();
		else if (more > 0 && ucp_worker_arm(s->worker) == UCS_OK)
			poll(&fd, 1, POLL_MS);
	}
	return NULL;
}

int raw_serve(raw *s, int spin) {
	s->spin = spin;
	s->finish = 0;
	return pthread_create(&s->thread, NULL, serve, s) ? UCS_ERR_NO_RESOURCE : 0;
}

void raw_stop(raw *s) {
	__atomic_store_n(&s->finish, 1, __ATOMIC_RELEASE);
	pthread_join(s->thread, NULL);
}

static uint64_t next(uint64_t *random) {
	*random ^= *random << 13;
	*random ^= *random >> 7;
	return *random ^= *random << 17;
}

static void land(slot *at, ucs_status_t status) {
	run *r = at->run;
	if (status != UCS_OK)
		r->status = status;
	if (r->eachNs)
		r->eachNs[r->done] = nowNs() - at->began;
	r->done++;
	r->free[r->idle++] = at;
}

static void landed(void *request, ucs_status_t status, void *at) {
	ucp_request_free(request);
	land(at, status);
}

// post gets bytes from anywhere in the memory of any side.
static void post(run *r, int bytes) {
	raw *s = r->side;
	slot *at = r->free[--r->idle];
	target *t = &s->targets[next(&r->random) % s->count];
	uint64_t line = next(&r->random) % ((s->bytes - bytes) / LINE + 1);
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
			UCP_OP_ATTR_FIELD_MEMORY_TYPE,
		.cb.send = landed,
		.user_data = at,
		.memory_type = UCS_MEMORY_TYPE_HOST,
	};
	if (r->eachNs)
		at->began = nowNs();
	void *request = ucp_get_nbx(t->ep, at->buf, bytes, t->base + line * LINE, t->rkey, &params);
	if (!UCS_PTR_IS_PTR(request))
		land(at, UCS_PTR_STATUS(request));
}

static void pump(run *r, int64_t gets, int bytes) {
	int idle = 0;
	for (int64_t posted = 0; r->done < gets && r->status == UCS_OK;) {
		for (; posted < gets && r->idle > 0; posted++)
			post(r, bytes);
		if (ucp_worker_progress(r->side->worker))
			idle = 0;
		else if (++idle % IDLE == 0)
			sched_yield();
	}
}

// raw_gets does so many gets, with inFlight of them under way, in all sides that it is connected
// to. eachNs, if not NULL, has how long each has taken.
int raw_gets(raw *s, int64_t gets, int bytes, int inFlight, uint64_t seed, int64_t *tookNs,
	int64_t *eachNs) {
	run r = {.side = s, .eachNs = eachNs, .random = seed | 1};
	char *bufs = malloc((size_t)inFlight * bytes);
	r.slots = calloc(inFlight, sizeof *r.slots);
	r.free = calloc(inFlight, sizeof *r.free);
	for (int i = 0; i < inFlight; i++) {
		r.slots[i] = (slot){.buf = bufs + (size_t)i * bytes, .run = &r};
		r.free[r.idle++] = &r.slots[i];
	}
	int64_t began = nowNs();
	pump(&r, gets, bytes);
	*tookNs = nowNs() - began;
	if (r.status == UCS_OK) { // else UCX may still write there
		free(r.free);
		free(r.slots);
		free(bufs);
	}
	return r.status;
}

void raw_close(raw *s) {
	for (int i = 0; i < s->count; i++)
		ucp_rkey_destroy(s->targets[i].rkey);
	if (s->handle)
		ucp_mem_unmap(s->context, s->handle);
	if (s->worker)
		ucp_worker_destroy(s->worker);
	if (s->context)
		ucp_cleanup(s->context);
	free(s->targets);
	free(s->memory);
	free(s);
}
