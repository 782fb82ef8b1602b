// What a call begins with.

#ifndef FARHASH_CALLS_H
#define FARHASH_CALLS_H

// fh_begin_call counts a call in flight, which fh_end_call ends. It is NULL if the handle cannot be
// used; fh_refuse_handle gives the reason.
fh_handle *fh_begin_call(fh_handle *handle, uint32_t kind);
void fh_end_call(fh_handle **handle);
int fh_refuse_handle(const fh_handle *handle, uint32_t kind);
int fh_alive(void);
int fh_refuse_null(void);
int fh_refuse_size(void);

// HANDLE declares h, the inside of a handle, or returns.
#define HANDLE(pointer, kind) \
	fh_handle *h __attribute__((cleanup(fh_end_call))) = \
		fh_begin_call((fh_handle *)(pointer), kind); \
	if (__builtin_expect(!h, 0)) \
		return fh_refuse_handle((fh_handle *)(pointer), kind)

// CLOSE is HANDLE of a function that closes.
#define CLOSE(pointer, kind) \
	fh_handle *h = (fh_handle *)(pointer), *of __attribute__((cleanup(fh_end_call))) = NULL; \
	int refused = fh_begin_close(h, kind, &of); \
	if (refused) \
		return refused

// A call that calls functions of the program. These cannot close what the call works on.
typedef struct fh_caller {
	const fh_handle *handle;
	struct fh_caller *outer; // of the same thread
} fh_caller;

void fh_push_caller(fh_caller *caller);
void fh_pop_caller(fh_caller *caller);

// CALLER follows HANDLE in such a call.
#define CALLER() \
	fh_caller caller __attribute__((cleanup(fh_pop_caller))) = {.handle = h}; \
	fh_push_caller(&caller)

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
