// A store in C. Functions return NULL, or what is wrong.
#include <stddef.h>

enum { KEY = 8, VALUE = 100, PAIR = KEY + VALUE };

enum { GET, PUT, FOUND, MISSING }; // kinds of calls; a get becomes one of the last two

struct store {
	// calls makes n calls. The pair of call i is at pairs + i*PAIR.
	const char *(*calls)(struct store *, char *pairs, unsigned char *kinds, size_t n, int together);
	void (*close)(struct store *);
};

const char *lmdb_open(const char *dir, size_t bytes, int durable, struct store **store);
const char *lmdb_version_text(void);
const char *shf_open(const char *dir, struct store **store);
