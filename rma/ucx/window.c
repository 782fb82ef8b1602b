//go:build ucx

// Windows: memory that UCX knows, and the keys to the memory of others.

#include <stdlib.h>
#include <string.h>

#include <ucm/api/ucm.h>

#include "shim.h"
#include "internal.h"

// fu_map makes a window over memory of this rank.
int fu_map(fu_job *job, uint32_t number, uint64_t *base, int64_t words, fu_window **out) {
	fu_window *w = fr_calloc(1, sizeof *w);
	w->job = job;
	w->number = number;
	w->base = base;
	w->words = words;
	w->bases = fr_calloc(job->size, sizeof *w->bases);
	w->keys = fr_calloc(job->size, sizeof *w->keys);
	w->rkeys = fr_calloc(job->size, sizeof *w->rkeys);
	w->direct = fr_calloc(job->size, sizeof *w->direct);
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = base,
		.length = words * 8,
	};
	fr_lock(&job->lock);
	ucs_status_t s = job->gone ? UCS_ERR_CANCELED :
		ucp_mem_map(job->context, &params, &w->memory);
	if (s != UCS_OK)
		w->memory = NULL;
	w->next = job->windows;
	job->windows = w;
	pthread_mutex_unlock(&job->lock);
	*out = w;
	return s;
}

// fu_key copies what others need to reach the memory: its length, or a code below 0.
int fu_key(fu_window *w, void *to, int most) {
	void *key;
	size_t bytes;
	fr_lock(&w->job->lock);
	ucs_status_t s = ucp_rkey_pack(w->job->context, w->memory, &key, &bytes);
	if (s == UCS_OK) {
		if (bytes <= (size_t)most)
			memcpy(to, key, bytes);
		else
			s = UCS_ERR_BUFFER_TOO_SMALL;
		ucp_rkey_buffer_release(key);
	}
	pthread_mutex_unlock(&w->job->lock);
	return s == UCS_OK ? (int)bytes : s;
}

// forget closes the segment of a rank, under the lock.
static void forget(fu_window *w, int rank) {
	if (w->rkeys[rank] && !w->job->stuck) // what stays may still have it
		ucp_rkey_destroy(w->rkeys[rank]);
	free(w->keys[rank]);
	w->keys[rank] = NULL;
	w->rkeys[rank] = NULL;
	w->direct[rank] = NULL;
}

void fu_segment(fu_window *w, int rank, uint64_t base, const void *key, int bytes) {
	fr_lock(&w->job->lock);
	forget(w, rank);
	w->bases[rank] = base;
	w->keys[rank] = fr_calloc(1, bytes);
	memcpy(w->keys[rank], key, bytes);
	pthread_mutex_unlock(&w->job->lock);
}

void fu_direct(fu_window *w, int rank, uint64_t *base, int atomics) {
	w->direct[rank] = base;
	w->atomics = atomics;
}

// fu_unlock_key returns the key of a rank, whose endpoint exists.
int fu_unlock_key(fu_window *w, int rank, ucp_rkey_h *rkey) {
	if (!w->keys[rank])
		return FH_LOST;
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

// fu_release gives a window back, under the lock.
int fu_release(fu_window *w) {
	ucs_status_t s = UCS_OK;
	for (fu_window **at = &w->job->windows; *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	for (int r = 0; r < w->job->size; r++) {
		if (w->rkeys[r])
			ucp_rkey_destroy(w->rkeys[r]);
		free(w->keys[r]);
	}
	if (w->memory) {
		s = ucp_mem_unmap(w->job->context, w->memory);
		// UCX keeps memory registered until it sees munmap of libc. Go unmaps without libc, and
		// the next window at this address would have the pages of this one.
		ucm_vm_munmap(w->base, w->words * 8);
	}
	free(w->bases);
	free(w->keys);
	free(w->rkeys);
	free(w->direct);
	free(w);
	return s;
}

// fu_unmap gives a window back, unless the job has done so.
int fu_unmap(fu_window *w, fu_job *job) {
	fr_lock(&job->lock);
	int err = job->gone ? 0 : fu_release(w);
	pthread_mutex_unlock(&job->lock);
	return err;
}
