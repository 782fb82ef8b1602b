//go:build ucx

// The worker, and the thread that makes progress when nobody waits.

#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"
#include "internal.h"

enum {
	POLL_MS = 100,      // what UCX signals by no event waits so long at most
	MIN_NAP_NS = 50000, // while others make progress
	MAX_NAP_NS = 400000,
	BURST = 64,         // calls of progress under one lock
	CLOSE_TRIES = 2000, // of a millisecond
};

const char *fu_version(void) { return ucp_get_version_string(); }

const char *fu_text(int code) { return ucs_status_string((ucs_status_t)code); }

static int start(fu_job *job, const char *transports, const char *devices) {
	ucp_config_t *config;
	ucs_status_t s = ucp_config_read(NULL, NULL, &config);
	if (s != UCS_OK)
		return s;
	if (transports[0])
		s = ucp_config_modify(config, "TLS", transports);
	if (s == UCS_OK && devices[0])
		s = ucp_config_modify(config, "NET_DEVICES", devices);
	ucp_params_t cp = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AM |
			UCP_FEATURE_WAKEUP,
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
	if (s == UCS_OK && (s = fu_open_ships(job)) != UCS_OK)
		ucp_worker_destroy(job->worker);
	if (s != UCS_OK)
		ucp_cleanup(job->context);
	return s;
}

int fu_open(int rank, int size, int oversubscribed, const char *transports, const char *devices,
	fu_job **out) {
	fu_job *job = calloc(1, sizeof *job);
	fu_peer_t *peers = calloc(size, sizeof *peers);
	int err = UCS_ERR_NO_MEMORY;
	if (job && peers) {
		job->rank = rank;
		job->size = size;
		fu_limit(job, FH_STORE_BYTES);
		err = start(job, transports, devices);
	}
	if (err) {
		free(peers);
		free(job);
		return err;
	}
	job->oversubscribed = oversubscribed;
	pthread_mutex_init(&job->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&job->landed, &monotonic);
	job->peers = peers;
	for (int r = 0; r < size; r++) {
		job->peers[r].job = job;
		job->peers[r].rank = r;
	}
	*out = job;
	return 0;
}

// fu_address copies the worker's address: its length, or a code below 0.
int fu_address(fu_job *job, void *to, int most) {
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

static void *serve(void *arg) {
	struct timespec nap = {0, MIN_NAP_NS};
	fu_job *job = arg;
	unsigned waits = 0; // that had begun when this thread last read the counter
	struct pollfd fds[2] = {{.fd = job->stop[0], .events = POLLIN}, {.events = POLLIN}};
	ucp_worker_get_efd(job->worker, &fds[1].fd);
	prctl(PR_SET_TIMERSLACK, 1000); // a nap may so be short
	while (!__atomic_load_n(&job->finish, __ATOMIC_ACQUIRE)) {
		// Who has just waited will soon do so again. If this thread went to sleep on events in
		// between, the next one would wake it as well, for nothing. Every nap takes time of a
		// core, so naps become longer as long as each sees a wait.
		unsigned begun = __atomic_load_n(&job->waits, __ATOMIC_RELAXED);
		if (!job->oversubscribed && (begun != waits || __atomic_load_n(&job->waiters, __ATOMIC_RELAXED) > 0)) {
			waits = begun;
			nanosleep(&nap, NULL);
			if (nap.tv_nsec < MAX_NAP_NS)
				nap.tv_nsec *= 2;
			continue;
		}
		nap.tv_nsec = MIN_NAP_NS;
		int more = BURST;
		fr_lock(&job->lock);
		while (more > 0 && fu_progress(job))
			more--;
		ucs_status_t s = more > 0 ? ucp_worker_arm(job->worker) : UCS_ERR_BUSY;
		int unclosed = job->unclosed;
		pthread_mutex_unlock(&job->lock);
		if (s == UCS_OK)
			poll(fds, 2, unclosed ? 1 : POLL_MS);
		else
			sched_yield();
	}
	return NULL;
}

// fu_serve starts the thread.
int fu_serve(fu_job *job) {
	if (pipe(job->stop) != 0)
		return UCS_ERR_NO_RESOURCE;
	job->served = fr_start(&job->thread, serve, job) == 0;
	if (job->served)
		return 0;
	close(job->stop[0]);
	close(job->stop[1]);
	return UCS_ERR_NO_RESOURCE;
}

static void stop(fu_job *job) {
	__atomic_store_n(&job->finish, 1, __ATOMIC_RELEASE);
	ssize_t n = write(job->stop[1], "", 1);
	(void)n;
	pthread_join(job->thread, NULL);
	close(job->stop[0]);
	close(job->stop[1]);
}

// fu_strand has fu_close leave the worker as it is.
void fu_strand(fu_job *job) { job->stuck = 1; }

// fu_close ends the thread and all of UCX. What is small stays for queues that outlive it. Where
// a rank was lost, or may have been, the worker stays: UCX 1.13 aborts the process where one is
// destroyed that still has to answer a request to connect (its pull request 8175).
void fu_close(fu_job *job) {
	static const struct timespec nap = {0, 1000000};
	if (job->served)
		stop(job);
	fr_lock(&job->lock);
	job->gone = 1;
	for (int r = 0; r < job->size; r++) {
		job->stuck |= job->peers[r].lost;
		if (job->peers[r].ep || job->peers[r].closing)
			fu_fail(&job->peers[r]);
	}
	for (int i = 0; job->unclosed && i < CLOSE_TRIES; i++) {
		if (i > 0)
			nanosleep(&nap, NULL);
		for (int n = 0; n < BURST; n++)
			fu_progress(job);
	}
	while (job->windows)
		fu_release(job->windows);
	if (!job->stuck) {
		ucp_worker_destroy(job->worker);
		ucp_cleanup(job->context);
	}
	fr_close(&job->inbox);
	for (int r = 0; r < job->size; r++) {
		free(job->peers[r].address);
		job->peers[r].address = NULL;
	}
	pthread_mutex_unlock(&job->lock);
}
