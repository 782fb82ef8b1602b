// No memory for handles and messages: calls fail and nothing ends the program.

#include <stdatomic.h>

#include "try.h"
#include "../library.h"

extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void *__libc_malloc(size_t bytes);

static atomic_int failing;

// The library's is the one that the program has.
void *aligned_alloc(size_t alignment, size_t bytes) {
	return failing && bytes == sizeof(fh_handle) ? NULL : __libc_memalign(alignment, bytes);
}

void *malloc(size_t bytes) {
	return failing && bytes == 2048 ? NULL : __libc_malloc(bytes); // a message
}

int main(void) {
	farhash_job *job;
	farhash_set *set;
	failing = 1;
	IS(FARHASH_ERROR_MEMORY, farhash_join(NULL, &job));
	CLAIM(!job && strstr(farhash_last_error(), "no memory for its message"));
	failing = 0;
	OK(farhash_join(NULL, &job));
	failing = 1;
	IS(FARHASH_ERROR_MEMORY, farhash_set_new(job, &(farhash_set_config){.buckets = 64}, &set));
	CLAIM(!set);
	failing = 0;
	FAILS(FARHASH_ERROR_ARGUMENT, "handle", farhash_set_contains(set, 1));
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 64}, &set));
	OK(farhash_job_close(job));
	puts("all is well");
	return 0;
}
