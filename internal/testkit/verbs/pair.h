// What the tests need of verbs, with nothing of its types in it.

#include <stdint.h>

// A device, and how far its atomics are atomic by what it says itself.
enum { FV_NONE, FV_DEVICE, FV_GLOBAL };

typedef struct {
	char name[64];
	int atomics, active; // active: one of its ports is
} fv_device;

int fv_devices(fv_device *to, int most);

// Two queue pairs of one device, connected with each other, and words that are registered with it.
typedef struct fv_pair fv_pair;

fv_pair *fv_open(const char *device, uint64_t *words, uint64_t bytes, const char **failed);
int fv_add(fv_pair *p, int64_t off, uint64_t delta, uint64_t *seen);
int fv_swap(fv_pair *p, int64_t off, uint64_t old, uint64_t word, uint64_t *seen);
const char *fv_text(int status);
void fv_close(fv_pair *p);
