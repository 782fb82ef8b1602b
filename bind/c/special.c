// The functions of farhash.h that are not like the others, of which api.c is made.

#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

int farhash_shipping_get(const farhash_table *table, farhash_shipping *shipping) {
	const fh_handle *any = table;
	uint32_t kind = any && any->kind > FH_JOB && any->kind <= FH_INDEX ? any->kind : FH_SET;
	HANDLE(table, kind);
	NEED(shipping);
	return goShipping(kind, h->number, shipping);
}

int farhash_cache_get(farhash_cache *cache, const void *key, void *value) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(value);
	int seen = h->shape.ranks ? fh_fast_get(h, key, value) : FH_UNKNOWN;
	return seen != FH_UNKNOWN ? seen : goCacheGet(h->number, BARE(key), value);
}

int farhash_cache_put(farhash_cache *cache, const void *key, const void *value) {
	HANDLE(cache, FH_CACHE);
	NEED(key);
	NEED(value);
	int done = h->shape.ranks ? fh_fast_put(h, key, value) : FH_UNKNOWN;
	return done != FH_UNKNOWN ? done : goCachePut(h->number, BARE(key), BARE(value));
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

int farhash_map_add(farhash_map *map, const void *key, size_t key_size, int64_t delta,
	int64_t *sum, uint64_t *version) {
	HANDLE(map, FH_MAP);
	farhash_map_call call = {.kind = FARHASH_ADD, .key = key, .key_size = key_size,
		.value = &delta};
	int result = goMapCall(h->number, &call);
	if (sum && result >= 0)
		*sum = delta;
	if (version && result >= 0)
		*version = call.version;
	return result;
}

int farhash_map_delete(farhash_map *map, const void *key, size_t key_size) {
	HANDLE(map, FH_MAP);
	farhash_map_call call = {.kind = FARHASH_DELETE, .key = key, .key_size = key_size};
	return goMapCall(h->number, &call);
}

int farhash_index_get(farhash_index *index, const void *key, void *value, size_t *value_size) {
	uint32_t count = 0;
	int code = farhash_index_get_batch(index, key, 1, value, value_size, &count);
	return code < 0 ? code : count > INT32_MAX ? INT32_MAX : (int)count;
}
