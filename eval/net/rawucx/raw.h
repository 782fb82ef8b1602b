// Gets by UCX with nothing around them. Functions that return int return 0 or a code of UCX for
// raw_text.

#include <stdint.h>

typedef struct raw raw;

const char *raw_text(int code);
int raw_open(int64_t bytes, raw **side);
int raw_card(raw *side, void *to, int most);
int raw_connect(raw *side, const void *card, int bytes);
int raw_serve(raw *side, int spin);
void raw_stop(raw *side);
int raw_gets(raw *side, int64_t gets, int bytes, int inFlight, uint64_t seed, int64_t *tookNs,
	int64_t *eachNs);
void raw_close(raw *side);
