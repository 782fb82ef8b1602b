// How tables are made and given back, which each interface of MPI-DHT does in its own way.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "LUCX/MPI/DHT.h"
#include "inside.h"

const char *farhash_dht_built_for(void) { return FARHASH_COMPILED_FOR; }

// callable reports whether MPI can be called, with a communicator.
static int callable(MPI_Comm comm) {
	int begun = 0, over = 0;
	MPI_Initialized(&begun);
	MPI_Finalized(&over);
	return begun && !over && comm != MPI_COMM_NULL;
}

// speaks chooses the process that prints why a table cannot be made: the first one that has a reason
// of its own. Collective where MPI can be called.
static int speaks(MPI_Comm comm, int code) {
	if (!callable(comm))
		return 1;
	int rank, first, mine;
	MPI_Comm_rank(comm, &rank);
	mine = code == FARHASH_ERROR_RANK ? INT_MAX : rank;
	MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
	return first == rank;
}

// modeOf is the mode that a word means, below 0 for none.
static int32_t modeOf(const char *word) {
	static const char *const names[] = {"lock-free", "fine", "coarse"};
	for (int32_t mode = FARHASH_LOCK_FREE; mode <= FARHASH_COARSE; mode++)
		if (strcmp(word, names[mode]) == 0)
			return mode;
	return -1;
}

// chosenMode is the mode that the environment asks for. MPI-DHT chooses it when it is compiled.
static int32_t chosenMode(void) {
	const char *word = getenv("FARHASH_DHT_MODE");
	return word && *word ? modeOf(word) : FARHASH_LOCK_FREE;
}

enum { MAX_ENTRY = (1 << 17) - sizeof(uint64_t) };

// sensible reports whether a table can have such sizes.
static int sensible(const fh_dht_shape *s) {
	return s->key_size > 0 && s->data_size > 0 && s->buckets > 0 && s->key_size <= MAX_ENTRY &&
		s->data_size <= MAX_ENTRY - s->key_size;
}

// explain puts what was asked for in front of the reason, which has other names for it, and prints
// that as one line.
static void explain(const fh_dht_shape *s, int code) {
	char text[2048], sizes[200];
	const char *why = chosenMode() < 0 ?
		"FARHASH_DHT_MODE is lock-free, fine or coarse" : farhash_last_error();
	snprintf(sizes, sizeof sizes, "all must be at least 1, and key_size and data_size %d together at "
		"most", MAX_ENTRY);
	snprintf(text, sizeof text, "farhash_dht: %s with key_size %lld, data_size %lld and bucket_count "
		"%llu: %s", s->call, (long long)s->key_size, (long long)s->data_size,
		(unsigned long long)s->buckets, sensible(s) ? why : sizes);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	farhash_refuse(code, text);
	if (speaks(s->comm, code))
		fprintf(stderr, "%s\n", text);
	if (callable(s->comm)) // a program that ends the job now does not end who prints
		MPI_Barrier(s->comm);
}

static uint64_t positive(int64_t size) { return size > 0 ? (uint64_t)size : 0; }

// join joins the processes and makes the cache. It does so with arguments that make no sense as
// well: then it fails in all processes.
static int join(const fh_dht_shape *s, struct farhash_dht *d) {
	size_t hash_bytes = s->hash && s->key_size > 0 ? sizeof(uint64_t) : 0;
	farhash_cache_config config = {.key_size = positive(s->key_size) + hash_bytes,
		.value_size = positive(s->data_size), .mode = chosenMode()};
	int level = MPI_THREAD_SINGLE;
	if (callable(s->comm))
		MPI_Query_thread(&level);
	// Programs for MPI-DHT call MPI when they like.
	farhash_options options = {.passive = level != MPI_THREAD_MULTIPLE};
	int code = farhash_join_comm(s->comm, &options, d ? &d->job : NULL);
	if (!d) // an error of all processes
		return code;
	d->hash_bytes = hash_bytes;
	d->evicted = s->evicted;
	if (code == FARHASH_OK) {
		uint64_t ranks = farhash_job_size(d->job);
		config.buckets = s->buckets > UINT64_MAX / ranks ? UINT64_MAX : s->buckets * ranks;
	}
	if (code == FARHASH_OK && (code = farhash_cache_new(d->job, &config, &d->cache)) < 0) {
		char why[2048]; // closing may have another one
		snprintf(why, sizeof why, "%s", farhash_last_error());
		farhash_job_close(d->job);
		farhash_refuse(code, why);
	}
	return code;
}

int fh_dht_make(const fh_dht_shape *s, DHT *table) {
	struct farhash_dht *d = table ? calloc(1, sizeof *d) : NULL;
	int code = join(s, d);
	if (!table)
		code = farhash_refuse(FARHASH_ERROR_ARGUMENT, "the table is NULL; give memory for it");
	else if (!d)
		code = farhash_refuse(FARHASH_ERROR_MEMORY, "there is no memory for a table");
	if (table)
		*table = (DHT){0};
	if (code < 0) {
		explain(s, code);
		free(d);
		return fh_dht_error(code);
	}
	*table = (DHT){.data_size = (int)s->data_size, .key_size = (int)s->key_size,
		.bucket_count = s->buckets < UINT_MAX ? (unsigned)s->buckets : UINT_MAX, .comm = s->comm,
		.comm_size = farhash_job_size(d->job), .hash_func = s->hash, .inside = d};
	return DHT_SUCCESS;
}

int fh_dht_end(DHT *table, fh_dht_totals *totals) {
	*totals = (fh_dht_totals){0};
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	struct farhash_dht *d = table->inside;
	farhash_cache_stats total;
	int code = farhash_cache_all_stats(d->cache, NULL, &total);
	if (code == FARHASH_OK)
		totals->mismatches = (uint32_t)total.mismatches;
	if (callable(table->comm)) {
		int mine[2] = {table->evictions, table->read_misses}, sum[2] = {0};
		MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, table->comm);
		totals->evictions = sum[0];
		totals->read_misses = sum[1];
	}
	int closed = farhash_job_close(d->job);
	free(d->counted);
	free(d);
	table->inside = NULL;
	return code < 0 ? fh_dht_error(code) : closed < 0 ? fh_dht_error(closed) : DHT_SUCCESS;
}

// allocate is fh_dht_make with memory for the table.
static DHT *allocate(const fh_dht_shape *s) {
	DHT *table = calloc(1, sizeof *table);
	if (fh_dht_make(s, table) == DHT_SUCCESS)
		return table;
	free(table);
	return NULL;
}

// ---- MPI-DHT ----

int ucx_worker_bootstrap_mpi(ucp_address_t *self, uint64_t length, const void *arguments,
	ucx_ep_info_t *info) {
	(void)self, (void)length, (void)arguments, (void)info;
	return UCX_BCAST_NOT_RUN;
}

// refuse prints why a table cannot be made that no other process hears of.
static DHT *refuse(const char *text) {
	farhash_refuse(FARHASH_ERROR_ARGUMENT, text);
	fprintf(stderr, "%s\n", text);
	return NULL;
}

DHT *DHT_create(const DHT_init_t *init) {
	static const MPI_Comm none;
	if (!init)
		return refuse("farhash_dht: DHT_create: init_params is NULL");
	MPI_Comm comm = init->comm;
	if (init->bcast_func == ucx_worker_bootstrap_mpi) {
		if (!init->bcast_func_args)
			return refuse("farhash_dht: DHT_create: bcast_func_args is NULL; have it point to a "
				"ucx_ep_args_mpi_t with the communicator");
		comm = ((const ucx_ep_args_mpi_t *)init->bcast_func_args)->comm;
	} else if (init->bcast_func && !memcmp(&comm, &none, sizeof comm)) {
		return refuse("farhash_dht: DHT_create: bcast_func is not known; give UCX_INIT_BSTRAP_MPI "
			"and a communicator, or comm");
	}
	return allocate(&(fh_dht_shape){.call = "DHT_create", .key_size = init->key_size,
		.data_size = init->data_size, .buckets = init->bucket_count, .hash = init->hash_func,
		.comm = comm, .evicted = DHT_WRITE_SUCCESS_WITH_EVICTION});
}

int DHT_free(DHT *table, uint32_t *chksum_retries) {
	fh_dht_totals totals;
	int code = fh_dht_end(table, &totals);
	if (code == DHT_SUCCESS && chksum_retries)
		*chksum_retries = totals.mismatches;
	free(table);
	return code;
}

// ---- POET 0.4 ----

enum { POET_EVICTION = -3 };

DHT *farhash_poet_create(MPI_Comm comm, uint64_t buckets, unsigned data_size, unsigned key_size,
	uint64_t (*hash)(int, const void *)) {
	return allocate(&(fh_dht_shape){.call = "DHT_create", .key_size = key_size,
		.data_size = data_size, .buckets = buckets, .hash = hash, .comm = comm,
		.evicted = POET_EVICTION});
}

int farhash_poet_free(DHT *table, int *evictions, int *read_errors) {
	fh_dht_totals totals;
	int code = fh_dht_end(table, &totals);
	if (code == DHT_SUCCESS && evictions)
		*evictions = totals.evictions;
	if (code == DHT_SUCCESS && read_errors)
		*read_errors = totals.read_misses;
	free(table);
	return code;
}

// ---- The one with <LUCX/PHT.h> ----

int farhash_pht_create(int key_size, int data_size, unsigned buckets,
	uint64_t (*hash)(int, const void *), MPI_Comm comm, DHT *table) {
	return fh_dht_make(&(fh_dht_shape){.call = "DHT_create", .key_size = key_size,
		.data_size = data_size, .buckets = buckets, .hash = hash, .comm = comm,
		.evicted = DHT_WRITE_SUCCESS_WITH_EVICTION}, table);
}

int farhash_pht_free(DHT *table, uint32_t *chksum_retries) {
	fh_dht_totals totals;
	int code = fh_dht_end(table, &totals);
	if (code == DHT_SUCCESS && chksum_retries)
		*chksum_retries = totals.mismatches;
	return code;
}
