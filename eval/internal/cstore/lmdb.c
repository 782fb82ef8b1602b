//go:build cgo && lmdb

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lmdb.h>

#include "store.h"

struct lmdb {
	struct store is;
	MDB_env *env;
	MDB_txn *reads; // reset between reads
	MDB_dbi table;
};

static int call(struct lmdb *s, MDB_txn *txn, char *pair, unsigned char *kind) {
	MDB_val key = {KEY, pair}, value = {VALUE, pair + KEY};
	if (*kind == PUT)
		return mdb_put(txn, s->table, &key, &value, 0);
	int code = mdb_get(txn, s->table, &key, &value);
	*kind = code == 0 && value.mv_size == VALUE ? FOUND : MISSING;
	if (*kind == FOUND)
		memcpy(pair + KEY, value.mv_data, VALUE);
	return code == MDB_NOTFOUND ? 0 : code;
}

// transact makes calls in one transaction, which writes if one of the calls does.
static int transact(struct lmdb *s, char *pairs, unsigned char *kinds, size_t n) {
	MDB_txn *txn = s->reads;
	int writes = memchr(kinds, PUT, n) != NULL;
	int code = writes ? mdb_txn_begin(s->env, NULL, 0, &txn) : mdb_txn_renew(txn);
	if (code)
		return code;
	for (size_t i = 0; i < n && !code; i++)
		code = call(s, txn, pairs + i * PAIR, kinds + i);
	if (!writes)
		mdb_txn_reset(txn);
	else if (code)
		mdb_txn_abort(txn);
	else
		code = mdb_txn_commit(txn);
	return code;
}

static const char *calls(struct store *is, char *pairs, unsigned char *kinds, size_t n,
		int together) {
	size_t step = together ? n : 1;
	for (size_t i = 0; i < n; i += step) {
		int code = transact((struct lmdb *)is, pairs + i * PAIR, kinds + i, step);
		if (code)
			return mdb_strerror(code);
	}
	return NULL;
}

static void closes(struct store *is) {
	struct lmdb *s = (struct lmdb *)is;
	if (s->reads)
		mdb_txn_abort(s->reads);
	mdb_env_close(s->env);
	free(s);
}

const char *lmdb_open(const char *dir, size_t bytes, int durable, struct store **store) {
	struct lmdb *s = calloc(1, sizeof *s);
	MDB_txn *txn = NULL;
	unsigned flags = durable ? 0 : MDB_NOSYNC | MDB_WRITEMAP;
	int code = mdb_env_create(&s->env);
	if (!code)
		code = mdb_env_set_mapsize(s->env, bytes);
	if (!code)
		code = mdb_env_open(s->env, dir, flags, 0600);
	if (!code)
		code = mdb_txn_begin(s->env, NULL, 0, &txn);
	if (!code)
		code = mdb_dbi_open(txn, NULL, 0, &s->table);
	if (!code)
		code = mdb_txn_commit(txn);
	if (!code)
		code = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &s->reads);
	if (code) {
		if (s->env)
			closes(&s->is);
		return mdb_strerror(code);
	}
	mdb_txn_reset(s->reads);
	s->is.calls = calls;
	s->is.close = closes;
	*store = &s->is;
	return NULL;
}

const char *lmdb_version_text(void) {
	int major, minor, patch;
	static char text[32];
	mdb_version(&major, &minor, &patch);
	snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
	return text;
}
