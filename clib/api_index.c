// The functions of farhash.h about indexes: as api.c.

#include "library.h"
#include "_cgo_export.h"
#include "calls.h"

#define BARE(pointer) ((void *)(uintptr_t)(pointer))

int farhash_index_build(farhash_job *job, const farhash_index_config *config,
	int (*next)(const void **key, const void **value, size_t *value_size, void *argument),
	void *argument, farhash_index **index) {
	OUT(index);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goIndexBuild(h->number, BARE(config), (void *)next, argument, (fh_handle **)index);
}

int farhash_index_build_batch(farhash_job *job, const farhash_index_config *config,
	const void *keys, const void *values, const size_t *sizes, size_t n, farhash_index **index) {
	OUT(index);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goIndexBuildBatch(h->number, BARE(config), BARE(keys), BARE(values), BARE(sizes), n,
		(fh_handle **)index);
}

int farhash_index_load(farhash_job *job, const char *path, const farhash_index_config *config,
	farhash_index **index) {
	OUT(index);
	HANDLE(job, FH_JOB);
	fh_keep_stacks();
	return goIndexLoad(h->number, BARE(path), BARE(config), (fh_handle **)index);
}

int farhash_index_save(farhash_index *index, const char *path) {
	HANDLE(index, FH_INDEX);
	return goIndexSave(h->number, BARE(path));
}

int farhash_index_get(farhash_index *index, const void *key, void *value, size_t *value_size) {
	uint32_t count = 0;
	int code = farhash_index_get_batch(index, key, 1, value, value_size, &count);
	return code < 0 ? code : count > INT32_MAX ? INT32_MAX : (int)count;
}

int farhash_index_get_batch(farhash_index *index, const void *keys, size_t n, void *values,
	size_t *sizes, uint32_t *counts) {
	HANDLE(index, FH_INDEX);
	if (n == 0)
		return FARHASH_OK;
	NEED(keys);
	if (h->more > 0)
		NEED(values);
	NEED(counts);
	BATCH(n, h->bytes + h->more);
	return goIndexGet(h->number, BARE(keys), n, values, sizes, counts);
}

int farhash_index_lookup(farhash_index *index, const void *keys, size_t n,
	void (*found)(size_t i, const void *value, size_t value_size, void *argument),
	void *argument) {
	HANDLE(index, FH_INDEX);
	if (n == 0)
		return FARHASH_OK;
	NEED(keys);
	NEED(found);
	BATCH(n, h->bytes);
	return goIndexLookup(h->number, BARE(keys), n, (void *)found, argument);
}

int farhash_index_len(farhash_index *index, uint64_t *records) {
	HANDLE(index, FH_INDEX);
	NEED(records);
	*records = goIndexLen(h->number);
	return FARHASH_OK;
}

int farhash_index_sizes(farhash_index *index, uint64_t *key_size, uint64_t *value_size,
	int32_t *variable) {
	HANDLE(index, FH_INDEX);
	NEED(key_size);
	NEED(value_size);
	*key_size = h->bytes;
	*value_size = h->more;
	if (variable)
		*variable = goIndexVariable(h->number);
	return FARHASH_OK;
}

int farhash_index_note(farhash_index *index, char *note, size_t room) {
	HANDLE(index, FH_INDEX);
	NEED(note);
	return goIndexNote(h->number, note, room);
}

int farhash_index_check(farhash_index *index) {
	HANDLE(index, FH_INDEX);
	return goIndexCheck(h->number);
}

int farhash_index_close(farhash_index *index) {
	HANDLE(index, FH_INDEX);
	return goIndexClose(h->number);
}
