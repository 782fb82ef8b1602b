// The functions of farhash.h about maps: as api.c.

#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

#define BARE(pointer) ((void *)(uintptr_t)(pointer))

int farhash_map_new(farhash_job *job, const farhash_map_config *config, farhash_map **map) {
	OUT(map);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goMapNew(h->number, BARE(config), (fh_handle **)map);
}

int farhash_map_get(farhash_map *map, const void *key, size_t key_size, void *value, size_t room,
	size_t *value_size, uint64_t *version) {
	HANDLE(map, FH_MAP);
	farhash_map_call call = {.kind = FARHASH_GET, .key = key, .key_size = key_size,
		.value = value, .room = room};
	int result = goMapCall(h->number, &call);
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
	int result = goMapCall(h->number, &call);
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
	return goMapCall(h->number, &call);
}

int farhash_map_batch(farhash_map *map, farhash_map_call *calls, size_t n) {
	HANDLE(map, FH_MAP);
	if (n == 0)
		return FARHASH_OK;
	NEED(calls);
	BATCH(n, sizeof *calls);
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

int farhash_map_save(farhash_map *map, const char *path) {
	HANDLE(map, FH_MAP);
	return goMapSave(h->number, BARE(path));
}

int farhash_map_load(farhash_map *map, const char *path) {
	HANDLE(map, FH_MAP);
	return goMapLoad(h->number, BARE(path));
}

int farhash_map_check(farhash_map *map) {
	HANDLE(map, FH_MAP);
	return goMapCheck(h->number);
}

int farhash_map_close(farhash_map *map) {
	HANDLE(map, FH_MAP);
	return goMapClose(h->number);
}
