//go:build ucx

// The worker, its endpoints, and the thread that makes progress when nobody waits.

#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"
#include "internal.h"

enum {
	LOCK_TRIES = 1000,
	POLL_MS = 100,      // what UCX does not tell by an event waits so long at most
	NAP_NS = 50000,     // while others make progress
	BURST = 64,         // calls of progress under one lock
	CLOSE_TRIES = 2000, // of a millisecond
};

const char *fh_version(void) { return ucp_get_version_string(); }

const char *fh_text(int code) { return ucs_status_string((ucs_status_t)code); }

void fh_lock(fh_job *job) {
	for (int i = 0; pthread_mutex_trylock(&job->lock) != 0; i++)
		if (i == LOCK_TRIES) {
			pthread_mutex_lock(&job->lock);
			break;
		}
}

void fh_unlock(fh_job *job) { pthread_mutex_unlock(&job->lock); }

// fh_is_loss tells the errors of a rank that is gone from others.
int fh_is_loss(ucs_status_t s) {
	return s == UCS_ERR_CANCELED || s == UCS_ERR_ENDPOINT_TIMEOUT ||
		s == UCS_ERR_CONNECTION_RESET || s == UCS_ERR_UNREACHABLE || s == UCS_ERR_NOT_CONNECTED ||
		s == UCS_ERR_REJECTED || s == UCS_ERR_IO_ERROR;
}

static int start(fh_job *job, const char *transports) {
	ucp_config_t *config;
	ucs_status_t s = ucp_config_read(NULL, NULL, &config);
	if (s != UCS_OK)
		return s;
	if (transports[0])
		s = ucp_config_modify(config, "TLS", transports);
	ucp_params_t cp = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP,
	};
	if (s == UCS_OK)
		s = ucp_init(&cp, config, &job->context);
	ucp_config_release(config);
	if (s != UCS_OK)
		return s;
	ucp_worker_params_t wp = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SERIALIZED,
	};
	s = ucp_worker_create(job->context, &wp, &job->worker);
	if (s != UCS_OK)
		ucp_cleanup(job->context);
	return s;
}

int fh_open(int rank, int size, const char *transports, fh_job **out) {
	fh_job *job = calloc(1, sizeof *job);
	job->rank = rank;
	job->size = size;
	int err = start(job, transports);
	if (err) {
		free(job);
		return err;
	}
	pthread_mutex_init(&job->lock, NULL);
	job->peers = calloc(size, sizeof *job->peers);
	for (int r = 0; r < size; r++) {
		job->peers[r].job = job;
		job->peers[r].rank = r;
	}
	*out = job;
	return 0;
}

// fh_address copies the worker's address: its length, or a code below 0.
int fh_address(fh_job *job, void *to, int most) {
	ucp_address_t *address;
	size_t bytes;
	ucs_status_t s = ucp_worker_get_address(job->worker, &address, &bytes);
	if (s != UCS_OK)
		return s;
	if (bytes <= (size_t)most)
		memcpy(to, address, bytes);
	ucp_worker_release_address(job->worker, address);
	return bytes <= (size_t)most ? (int)bytes : UCS_ERR_BUFFER_TOO_SMALL;
}

void fh_peer(fh_job *job, int rank, const void *address, int bytes) {
	job->peers[rank].address = malloc(bytes);
	memcpy(job->peers[rank].address, address, bytes);
}

// fh_fail marks a rank as lost. Its endpoint is closed later: this may be a callback of it.
void fh_fail(fh_peer_t *p) {
	__atomic_store_n(&p->lost, 1, __ATOMIC_RELEASE);
	p->job->sick = 1;
}

static void failed(void *peer, ucp_ep_h ep, ucs_status_t status) {
	(void)ep;
	(void)status;
	fh_fail(peer);
}

// fh_reach returns the endpoint of a rank.
int fh_reach(fh_job *job, int rank, ucp_ep_h *ep) {
	fh_peer_t *p = &job->peers[rank];
	if (p->lost)
		return FH_LOST;
	if (!p->ep) {
		ucp_ep_params_t params = {
			.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
				UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
			.address = p->address,
			.err_mode = rank == job->rank ? UCP_ERR_HANDLING_MODE_NONE :
				UCP_ERR_HANDLING_MODE_PEER,
			.err_handler = {.cb = failed, .arg = p},
		};
		ucs_status_t s = ucp_ep_create(job->worker, &params, &p->ep);
		if (s != UCS_OK) {
			p->ep = NULL;
			return s;
		}
	}
	*ep = p->ep;
	return 0;
}

// hangUp begins to close an endpoint without the other side.
static void hangUp(fh_peer_t *p) {
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_EP_CLOSE_FLAG_FORCE,
	};
	void *request = ucp_ep_close_nbx(p->ep, &params);
	p->ep = NULL;
	p->closing = UCS_PTR_IS_PTR(request) ? request : NULL;
}

// hungUp tells whether that has come to its end.
static int hungUp(fh_peer_t *p) {
	if (p->closing && ucp_request_check_status(p->closing) == UCS_INPROGRESS)
		return 0;
	if (p->closing)
		ucp_request_free(p->closing);
	p->closing = NULL;
	return 1;
}

// tend closes the endpoints of lost ranks, and then gives up what they have not answered.
static void tend(fh_job *job) {
	job->sick = 0;
	for (int r = 0; r < job->size; r++) {
		fh_peer_t *p = &job->peers[r];
		if (!p->lost || (!p->ep && !p->closing))
			continue;
		if (p->ep)
			hangUp(p);
		if (!hungUp(p)) {
			job->sick = 1;
			continue;
		}
		for (fh_queue *q = job->queues; q; q = fh_next(q))
			fh_orphan(q, r);
	}
}

unsigned fh_progress(fh_job *job) {
	unsigned n = ucp_worker_progress(job->worker);
	if (job->sick)
		tend(job);
	return n;
}

void fh_lose(fh_job *job, int rank) {
	fh_lock(job);
	if (!job->gone && !job->peers[rank].lost) {
		fh_fail(&job->peers[rank]);
		fh_progress(job);
	}
	fh_unlock(job);
}

int fh_lost(fh_job *job, int rank) {
	return __atomic_load_n(&job->peers[rank].lost, __ATOMIC_ACQUIRE);
}

static void *serve(void *arg) {
	static const struct timespec nap = {0, NAP_NS};
	fh_job *job = arg;
	struct pollfd fds[2] = {{.fd = job->stop[0], .events = POLLIN}, {.events = POLLIN}};
	ucp_worker_get_efd(job->worker, &fds[1].fd);
	prctl(PR_SET_TIMERSLACK, 1000); // a nap may so be short
	while (!__atomic_load_n(&job->finish, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&job->waiters, __ATOMIC_RELAXED) > 0) {
			nanosleep(&nap, NULL);
			continue;
		}
		int more = BURST;
		fh_lock(job);
		while (more > 0 && fh_progress(job))
			more--;
		ucs_status_t s = more > 0 ? ucp_worker_arm(job->worker) : UCS_ERR_BUSY;
		int sick = job->sick;
		fh_unlock(job);
		if (s == UCS_OK)
			poll(fds, 2, sick ? 1 : POLL_MS);
		else
			sched_yield();
	}
	return NULL;
}

// fh_serve starts the thread. Signals are for other threads, where Go handles them, save
// those of a crash.
int fh_serve(fh_job *job) {
	sigset_t all, before;
	if (pipe(job->stop) != 0)
		return UCS_ERR_NO_RESOURCE;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGABRT);
	sigdelset(&all, SIGFPE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	job->served = pthread_create(&job->thread, NULL, serve, job) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (job->served)
		return 0;
	close(job->stop[0]);
	close(job->stop[1]);
	return UCS_ERR_NO_RESOURCE;
}

static void stop(fh_job *job) {
	__atomic_store_n(&job->finish, 1, __ATOMIC_RELEASE);
	ssize_t n = write(job->stop[1], "", 1);
	(void)n;
	pthread_join(job->thread, NULL);
	close(job->stop[0]);
	close(job->stop[1]);
}

// fh_close ends the thread and all of UCX. What is small stays for queues that outlive it.
void fh_close(fh_job *job) {
	static const struct timespec nap = {0, 1000000};
	if (job->served)
		stop(job);
	fh_lock(job);
	job->gone = 1;
	for (int r = 0; r < job->size; r++)
		if (job->peers[r].ep || job->peers[r].closing)
			fh_fail(&job->peers[r]);
	for (int i = 0; job->sick && i < CLOSE_TRIES; i++) {
		if (i > 0)
			nanosleep(&nap, NULL);
		for (int n = 0; n < BURST; n++)
			fh_progress(job);
	}
	while (job->windows)
		fh_release(job->windows);
	ucp_worker_destroy(job->worker);
	ucp_cleanup(job->context);
	for (int r = 0; r < job->size; r++) {
		free(job->peers[r].address);
		job->peers[r].address = NULL;
	}
	fh_unlock(job);
}
