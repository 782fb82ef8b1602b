//go:build ucx

// Windows: memory that UCX knows, and the keys to that of others.

#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

// fh_map makes a window over memory of this rank.
int fh_map(fh_job *job, uint64_t *base, int64_t words, fh_window **out) {
	fh_window *w = calloc(1, sizeof *w);
	w->job = job;
	w->bases = calloc(job->size, sizeof *w->bases);
	w->keys = calloc(job->size, sizeof *w->keys);
	w->rkeys = calloc(job->size, sizeof *w->rkeys);
	w->direct = calloc(job->size, sizeof *w->direct);
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = base,
		.length = words * 8,
	};
	fh_lock(job);
	ucs_status_t s = job->gone ? UCS_ERR_CANCELED :
		ucp_mem_map(job->context, &params, &w->memory);
	if (s != UCS_OK)
		w->memory = NULL;
	w->next = job->windows;
	job->windows = w;
	fh_unlock(job);
	*out = w;
	return s;
}

// fh_key copies what others need to reach the memory: its length, or a code below 0.
int fh_key(fh_window *w, void *to, int most) {
	void *key;
	size_t bytes;
	fh_lock(w->job);
	ucs_status_t s = ucp_rkey_pack(w->job->context, w->memory, &key, &bytes);
	if (s == UCS_OK) {
		if (bytes <= (size_t)most)
			memcpy(to, key, bytes);
		else
			s = UCS_ERR_BUFFER_TOO_SMALL;
		ucp_rkey_buffer_release(key);
	}
	fh_unlock(w->job);
	return s == UCS_OK ? (int)bytes : s;
}

void fh_segment(fh_window *w, int rank, uint64_t base, const void *key, int bytes) {
	w->bases[rank] = base;
	w->keys[rank] = malloc(bytes);
	memcpy(w->keys[rank], key, bytes);
}

void fh_direct(fh_window *w, int rank, uint64_t *base, int atomics) {
	w->direct[rank] = base;
	w->atomics = atomics;
}

// fh_unlock_key returns the key of a rank, whose endpoint exists.
int fh_unlock_key(fh_window *w, int rank, ucp_rkey_h *rkey) {
	if (!w->rkeys[rank]) {
		ucs_status_t s = ucp_ep_rkey_unpack(w->job->peers[rank].ep, w->keys[rank],
			&w->rkeys[rank]);
		if (s != UCS_OK) {
			w->rkeys[rank] = NULL;
			return s;
		}
	}
	*rkey = w->rkeys[rank];
	return 0;
}

// fh_release gives a window back, under the lock.
int fh_release(fh_window *w) {
	ucs_status_t s = UCS_OK;
	for (fh_window **at = &w->job->windows; *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	for (int r = 0; r < w->job->size; r++) {
		if (w->rkeys[r])
			ucp_rkey_destroy(w->rkeys[r]);
		free(w->keys[r]);
	}
	if (w->memory)
		s = ucp_mem_unmap(w->job->context, w->memory);
	free(w->bases);
	free(w->keys);
	free(w->rkeys);
	free(w->direct);
	free(w);
	return s;
}

// fh_unmap gives a window back, unless the job has done so.
int fh_unmap(fh_window *w, fh_job *job) {
	fh_lock(job);
	int err = job->gone ? 0 : fh_release(w);
	fh_unlock(job);
	return err;
}
