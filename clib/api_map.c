// The functions of farhash.h about maps: as api.c.

#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

#define BARE(pointer) ((void *)(uintptr_t)(pointer))

// A key or a value: NULL is nothing, which a value may be.
#define BYTES(pointer, size) \
	if ((size) > 0) \
		NEED(pointer)

int farhash_map_new(farhash_job *job, const farhash_map_config *config, farhash_map **map) {
	NEED(map);
	*map = NULL;
	HANDLE(job, FH_JOB);
	NEED(config);
	fh_keep_stacks();
	return goMapNew(h->number, BARE(config), (fh_handle **)map);
}

// one carries out a single call.
static int one(fh_handle *h, farhash_map_call *call) {
	BYTES(call->key, call->key_size);
	if (call->kind == FARHASH_GET) {
		BYTES(call->value, call->room);
	} else if (call->kind != FARHASH_DELETE) {
		BYTES(call->value, call->value_size);
	}
	return goMapCall(h->number, call);
}

int farhash_map_get(farhash_map *map, const void *key, size_t key_size, void *value, size_t room,
	size_t *value_size, uint64_t *version) {
	HANDLE(map, FH_MAP);
	farhash_map_call call = {.kind = FARHASH_GET, .key = key, .key_size = key_size,
		.value = value, .room = room};
	int result = one(h, &call);
	if (value_size)
		*value_size = call.value_size;
	if (version)
		*version = call.version;
	return result;
}

// put does what the three kinds of puts have in common.
static int put(farhash_map *map, farhash_map_call call, uint64_t *version) {
	HANDLE(map, FH_MAP);
	if (version)
		call.version = *version;
	int result = one(h, &call);
	if (version && result >= 0)
		*version = call.version;
	return result;
}

#define PUT(what) \
	put(map, (farhash_map_call){.kind = what, .key = key, .key_size = key_size, \
		.value = BARE(value), .value_size = value_size}, version)

int farhash_map_put(farhash_map *map, const void *key, size_t key_size, const void *value,
	size_t value_size, uint64_t *version) {
	return PUT(FARHASH_PUT);
}

int farhash_map_put_if_absent(farhash_map *map, const void *key, size_t key_size,
	const void *value, size_t value_size, uint64_t *version) {
	return PUT(FARHASH_PUT_IF_ABSENT);
}

int farhash_map_compare_and_put(farhash_map *map, const void *key, size_t key_size,
	const void *value, size_t value_size, uint64_t *version) {
	NEED(version);
	return PUT(FARHASH_COMPARE_AND_PUT);
}

int farhash_map_delete(farhash_map *map, const void *key, size_t key_size) {
	HANDLE(map, FH_MAP);
	farhash_map_call call = {.kind = FARHASH_DELETE, .key = key, .key_size = key_size};
	return one(h, &call);
}

int farhash_map_batch(farhash_map *map, farhash_map_call *calls, size_t n) {
	HANDLE(map, FH_MAP);
	if (n == 0)
		return FARHASH_OK;
	NEED(calls);
	BATCH(n, sizeof *calls);
	for (size_t i = 0; i < n; i++) {
		BYTES(calls[i].key, calls[i].key_size);
		if (calls[i].kind == FARHASH_GET) {
			BYTES(calls[i].value, calls[i].room);
		} else if (calls[i].kind != FARHASH_DELETE) {
			BYTES(calls[i].value, calls[i].value_size);
		}
	}
	return goMapBatch(h->number, calls, n);
}

int farhash_map_range(farhash_map *map, int (*function)(const void *key, size_t key_size,
	const void *value, size_t value_size, void *argument), void *argument) {
	HANDLE(map, FH_MAP);
	NEED(function);
	return goMapRange(h->number, (void *)function, argument);
}

int farhash_map_stats_get(farhash_map *map, farhash_map_stats *stats) {
	HANDLE(map, FH_MAP);
	NEED(stats);
	return goMapStats(h->number, stats);
}

int farhash_map_len(farhash_map *map, uint64_t *keys) {
	HANDLE(map, FH_MAP);
	NEED(keys);
	return goMapLen(h->number, keys);
}

int farhash_map_check(farhash_map *map) {
	HANDLE(map, FH_MAP);
	return goMapCheck(h->number);
}

int farhash_map_close(farhash_map *map) {
	HANDLE(map, FH_MAP);
	return goMapClose(h->number);
}
