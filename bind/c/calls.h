// What a call begins with.

#ifndef FARHASH_CALLS_H
#define FARHASH_CALLS_H

// fh_usable reports whether a handle can be used; fh_refuse_handle gives the reason if not.
int fh_usable(const fh_handle *handle, uint32_t kind);
int fh_refuse_handle(const fh_handle *handle, uint32_t kind);
int fh_alive(void);
int fh_refuse_null(void);
int fh_refuse_size(void);

// HANDLE declares h, the inside of a handle, or returns.
#define HANDLE(pointer, kind) \
	fh_handle *h = (fh_handle *)(pointer); \
	if (__builtin_expect(!fh_usable(h, kind), 0)) \
		return fh_refuse_handle(h, kind)

// NEED returns if a pointer is NULL.
#define NEED(pointer) \
	if (__builtin_expect(!(pointer), 0)) \
		return fh_refuse_null()

// ALIVE returns in the child of a fork, where HANDLE is not called.
#define ALIVE() \
	if (fh_alive() != FARHASH_OK) \
		return FARHASH_ERROR_FORKED

// NONE returns if there is nothing to do.
#define NONE(n) \
	if ((n) == 0) \
		return FARHASH_OK

// BARE is a pointer without const, which functions of Go do not know.
#define BARE(pointer) ((void *)(uintptr_t)(pointer))

// BATCH returns if there are more items, of so many bytes, than fit into memory.
#define BATCH(n, bytes) \
	if (__builtin_expect((n) > (size_t)PTRDIFF_MAX / (bytes), 0)) \
		return fh_refuse_size()

// OUT sets the result of a collective function to NULL. Go reports a missing place for the result,
// as all ranks have to fail then.
#define OUT(pointer) \
	if (pointer) \
		*(pointer) = NULL

#endif
