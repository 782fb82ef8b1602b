//go:build cgo && sharedhashfile

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shf.private.h>
#include <shf.h>

#include "store.h"

struct shared {
	struct store is;
	SHF *shf;
};

static const char *calls(struct store *is, char *pairs, unsigned char *kinds, size_t n,
		int together) {
	SHF *shf = ((struct shared *)is)->shf;
	(void)together; // it has no transactions
	for (size_t i = 0; i < n; i++) {
		char *value = pairs + i * PAIR + KEY;
		shf_make_hash(pairs + i * PAIR, KEY);
		if (kinds[i] == GET) {
			uint32_t code = shf_get_key_val_copy(shf);
			kinds[i] = code == SHF_RET_KEY_FOUND && shf_val_len == VALUE ? FOUND : MISSING;
			if (kinds[i] == FOUND)
				memcpy(value, shf_val, VALUE);
			continue;
		}
		// shf_put_key_val adds a second pair if the key is there.
		shf_upd_callback_copy(value, VALUE);
		if (shf_upd_key_val(shf) == SHF_RET_KEY_FOUND)
			continue;
		shf_make_hash(pairs + i * PAIR, KEY);
		if (shf_put_key_val(shf, value, VALUE) != SHF_RET_KEY_PUT)
			return "shf_put_key_val has failed";
	}
	return NULL;
}

static void closes(struct store *is) {
	shf_detach(((struct shared *)is)->shf);
	free(is);
}

const char *shf_open(const char *dir, struct store **store) {
	struct shared *s = calloc(1, sizeof *s);
	shf_init();
	s->shf = shf_attach(dir, "store", 0);
	if (!s->shf) {
		free(s);
		return "shf_attach has failed";
	}
	s->is.calls = calls;
	s->is.close = closes;
	*store = &s->is;
	return NULL;
}
