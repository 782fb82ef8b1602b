// MPI-DHT's interface on the cache of farhash. Everything goes through farhash.h.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "MPI/DHT.h"
#include "farhash_mpi.h"
#include "library.h"

struct farhash_dht {
	DHT table;
	farhash_job *job;
	farhash_cache *cache;
	// Of all processes, when DHT_print_statistics was called last.
	uint64_t mismatches, occupied;
};

static int error_of(int code) {
	switch (code) {
	case FARHASH_ERROR_MEMORY:
		return DHT_NO_MEM;
	case FARHASH_ERROR_FILE:
		return DHT_FILE_IO_ERROR;
	default:
		return DHT_UCX_ERROR;
	}
}

// refuse_table is the answer to a table that is NULL.
static int refuse_table(void) {
	farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash_dht: the table is NULL; did DHT_create succeed?");
	return DHT_UCX_ERROR;
}

// outcome is what every process returns from a collective call: its own error, or that of another
// one, which has FARHASH_ERROR_RANK here.
static int outcome(DHT *table, int code, int answer) {
	int mine = code == FARHASH_ERROR_RANK ? DHT_UCX_ERROR : answer, least = DHT_UCX_ERROR;
	MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, table->comm);
	return least;
}

static int positive(int size) { return size > 0 ? size : 0; }

// make joins the processes and makes the cache. It does so with arguments that make no sense as
// well: then it fails in all processes.
static int make(struct farhash_dht *d, const DHT_init_t *init) {
	farhash_cache_config config = {.key_size = positive(init->key_size),
		.value_size = positive(init->data_size), .buckets_per_rank = init->bucket_count};
	int initialized = 0, level = MPI_THREAD_SINGLE;
	MPI_Initialized(&initialized);
	if (initialized)
		MPI_Query_thread(&level);
	// Programs for MPI-DHT call MPI when they like.
	farhash_options options = {.passive = level != MPI_THREAD_MULTIPLE};
	int code = farhash_join_comm(init->comm, &options, d ? &d->job : NULL);
	if (!d)
		return farhash_refuse(FARHASH_ERROR_MEMORY, "farhash_dht: there is no memory for a table");
	if (code == FARHASH_OK && (code = farhash_cache_new(d->job, &config, &d->cache)) < 0) {
		farhash_job_close(d->job);
		d->job = NULL;
	}
	return code;
}

// explain puts what DHT_create was given in front of what the cache says of it, which has other
// names there.
static void explain(const DHT_init_t *init) {
	char text[2048];
	snprintf(text, sizeof text, "farhash_dht: key_size %d, data_size %d, bucket_count %u: %s",
		init->key_size, init->data_size, init->bucket_count, farhash_last_error());
	farhash_refuse(FARHASH_ERROR_ARGUMENT, text);
}

DHT *DHT_create(const DHT_init_t *init) {
	if (!init) {
		farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash_dht: init_params is NULL");
		return NULL;
	}
	struct farhash_dht *d = calloc(1, sizeof *d);
	int code = make(d, init);
	if (code == FARHASH_ERROR_ARGUMENT)
		explain(init);
	if (code < 0) {
		free(d);
		return NULL;
	}
	d->table = (DHT){.data_size = init->data_size, .key_size = init->key_size,
		.bucket_count = init->bucket_count, .comm = init->comm,
		.comm_size = farhash_job_size(d->job), .hash_func = init->hash_func, .inside = d};
	return &d->table;
}

// where finds the process and bucket of a key.
static void where(DHT *table, const void *key, uint32_t *proc, uint32_t *index) {
	if (!proc && !index)
		return;
	int32_t rank = -1;
	uint64_t bucket = UINT64_MAX;
	farhash_cache_locate(table->inside->cache, key, &rank, &bucket);
	if (proc)
		*proc = (uint32_t)rank;
	if (index)
		*index = (uint32_t)bucket;
}

static int written(int result) {
	if (result < 0)
		return error_of(result);
	return result == FARHASH_EVICTED ? DHT_WRITE_SUCCESS_WITH_EVICTION : DHT_SUCCESS;
}

int DHT_write(DHT *table, void *key, void *data, uint32_t *proc, uint32_t *index) {
	if (!table)
		return refuse_table();
	int result = farhash_cache_put(table->inside->cache, key, data);
	if (result > 0)
		where(table, key, proc, index);
	return written(result);
}

int DHT_read(DHT *table, const void *key, void *destination) {
	if (!table)
		return refuse_table();
	int result = farhash_cache_get(table->inside->cache, key, destination);
	if (result < 0)
		return error_of(result);
	return result == FARHASH_HIT ? DHT_SUCCESS : DHT_READ_MISS;
}

void DHT_set_accumulate_callback(DHT *table, int (*callback)(int, void *, int, void *)) {
	if (table)
		table->accumulate_callback = callback;
	else
		refuse_table();
}

// accumulation is what the callback is called with.
struct accumulation {
	DHT *table;
	int size;
	void *data;
	int result;
};

static int accumulate(void *value, int found, void *argument) {
	struct accumulation *a = argument;
	(void)found; // what was not there is all zeros
	a->result = a->table->accumulate_callback(a->size, a->data, a->table->data_size, value);
	return a->result == 0;
}

int DHT_write_accumulate(DHT *table, const void *key, int send_size, void *data, uint32_t *proc,
	uint32_t *index, int *callback_ret) {
	if (!table)
		return refuse_table();
	if (!table->accumulate_callback) {
		farhash_refuse(FARHASH_ERROR_ARGUMENT,
			"farhash_dht: there is no callback; call DHT_set_accumulate_callback first");
		return DHT_UCX_ERROR;
	}
	struct accumulation a = {.table = table, .size = send_size, .data = data};
	int result = farhash_cache_update(table->inside->cache, key, accumulate, &a);
	if (result < 0)
		return error_of(result);
	if (callback_ret)
		*callback_ret = a.result;
	where(table, key, proc, index);
	return written(result);
}

int DHT_to_file(DHT *table, const char *filename) {
	if (!table)
		return refuse_table();
	int code = farhash_cache_save(table->inside->cache, filename);
	return outcome(table, code, code < 0 ? error_of(code) : DHT_SUCCESS);
}

// damaged reports whether the last error is that a file is damaged, and not that it is another one.
static int damaged(const char *filename) {
	const char *text = farhash_last_error(), *named = strstr(text, filename);
	if (named)
		text = named + strlen(filename);
	return strstr(text, "truncated") || strstr(text, "corrupt");
}

int DHT_from_file(DHT *table, const char *filename) {
	if (!table)
		return refuse_table();
	int code = farhash_cache_load(table->inside->cache, filename);
	int answer = code < 0 ? error_of(code) : DHT_SUCCESS;
	if (code == FARHASH_ERROR_FORMAT)
		answer = damaged(filename) ? DHT_FILE_READ_ERROR : DHT_WRONG_FILE;
	return outcome(table, code, answer);
}

static uint64_t writes(const farhash_cache_stats *s) {
	return s->inserted + s->updated + s->evicted;
}

static void print_line(const char *name, uint64_t buckets, const farhash_cache_stats *s) {
	printf("%6s %12llu %12llu %12llu %12llu %12llu %12llu\n", name, (unsigned long long)s->occupied,
		(unsigned long long)(buckets - s->occupied), (unsigned long long)writes(s),
		(unsigned long long)(s->hits + s->misses), (unsigned long long)s->misses,
		(unsigned long long)s->evicted);
}

static void print_all(DHT *table, const farhash_cache_stats *ranks,
	const farhash_cache_stats *total) {
	struct farhash_dht *d = table->inside;
	uint64_t buckets = 0;
	farhash_cache_buckets(d->cache, &buckets);
	printf("\n%6s %12s %12s %12s %12s %12s %12s\n", "rank", "occupied", "free", "writes", "reads",
		"misses", "evictions");
	for (int i = 0; i < table->comm_size; i++) {
		char name[16];
		snprintf(name, sizeof name, "%d", i);
		print_line(name, buckets / table->comm_size, &ranks[i]);
	}
	print_line("sum", buckets, total);
	printf("new entries: %lld; the last four columns begin anew\n\n",
		(long long)(total->occupied - d->occupied));
	fflush(stdout);
}

int DHT_print_statistics(DHT *table) {
	if (!table)
		return refuse_table();
	struct farhash_dht *d = table->inside;
	farhash_cache_stats total, *ranks = calloc(table->comm_size, sizeof *ranks);
	int code = farhash_cache_all_stats(d->cache, ranks, &total);
	if (!ranks) // the other processes have been served
		return DHT_NO_MEM;
	if (code == FARHASH_OK && farhash_job_rank(d->job) == 0)
		print_all(table, ranks, &total);
	free(ranks);
	if (code < 0)
		return error_of(code);
	d->mismatches += total.mismatches;
	d->occupied = total.occupied;
	code = farhash_cache_stats_reset(d->cache);
	return code < 0 ? error_of(code) : DHT_SUCCESS;
}

int DHT_free(DHT *table, uint32_t *chksum_retries) {
	if (!table)
		return refuse_table();
	struct farhash_dht *d = table->inside;
	farhash_cache_stats total;
	int code = farhash_cache_all_stats(d->cache, NULL, &total);
	if (code == FARHASH_OK && chksum_retries)
		*chksum_retries = (uint32_t)(total.mismatches + d->mismatches);
	int closed = farhash_job_close(d->job);
	free(d);
	return code < 0 ? error_of(code) : closed < 0 ? error_of(closed) : DHT_SUCCESS;
}
