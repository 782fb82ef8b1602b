// The calls that the interfaces of MPI-DHT have in common, on the cache of farhash. Everything goes
// through farhash.h.

#include <stdio.h>
#include <string.h>

#include "inside.h"

int fh_dht_error(int code) {
	switch (code) {
	case FARHASH_ERROR_MEMORY:
		return FH_DHT_NO_MEM;
	case FARHASH_ERROR_FILE:
		return DHT_FILE_IO_ERROR;
	default:
		return FH_DHT_ERROR;
	}
}

int fh_dht_usable(const DHT *table) {
	if (table && table->inside)
		return 1;
	farhash_refuse(FARHASH_ERROR_ARGUMENT, "farhash_dht: the table is NULL; did DHT_create succeed?");
	return 0;
}

int fh_dht_outcome(const DHT *table, int code) {
	int least = FH_DHT_ERROR;
	MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MIN, table->comm);
	return least;
}

void fh_dht_key(const DHT *table, const void *key, char *to) {
	uint64_t hash = table->hash_func ? table->hash_func(table->key_size, key) : 0;
	memcpy(to, &hash, table->inside->hash_bytes);
	memcpy(to + table->inside->hash_bytes, key, table->key_size);
}

// A key of the cache: the program's own, or one in room, or in memory if it is long.
typedef struct {
	uint64_t room[129];
	char *memory;
	const void *key; // NULL if there is no memory
} cache_key;

static const void *begin_key(const DHT *table, const void *key, cache_key *k) {
	size_t bytes = table->inside->hash_bytes + table->key_size;
	k->memory = NULL;
	if (!table->inside->hash_bytes || !key) // the cache refuses NULL
		return k->key = key;
	if (bytes > sizeof k->room && !(k->memory = malloc(bytes))) {
		farhash_refuse(FARHASH_ERROR_MEMORY, "farhash_dht: there is no memory for a key");
		return k->key = NULL;
	}
	char *to = k->memory ? k->memory : (char *)k->room;
	fh_dht_key(table, key, to);
	return k->key = to;
}

static void end_key(cache_key *k) { free(k->memory); }

static void count(int *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

// written is what a call returns that has put a pair.
static int written(DHT *table, int result) {
	if (result < 0)
		return fh_dht_error(result);
	if (result != FARHASH_EVICTED)
		return DHT_SUCCESS;
	count(&table->evictions);
	return table->inside->evicted;
}

static void tell(int32_t rank, uint64_t bucket, uint32_t *proc, uint32_t *index) {
	if (proc)
		*proc = (uint32_t)rank;
	if (index)
		*index = bucket < UINT32_MAX ? (uint32_t)bucket : UINT32_MAX;
}

int DHT_write(DHT *table, void *key, void *data, uint32_t *proc, uint32_t *index) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	cache_key k;
	int32_t rank = -1;
	uint64_t bucket = UINT64_MAX;
	begin_key(table, key, &k);
	int result = proc || index ?
		farhash_cache_put_located(table->inside->cache, k.key, data, &rank, &bucket) :
		farhash_cache_put(table->inside->cache, k.key, data);
	end_key(&k);
	tell(rank, bucket, proc, index);
	return written(table, result);
}

// found is what a call returns that has asked for a pair.
static int found(DHT *table, int result) {
	if (result < 0)
		return fh_dht_error(result);
	if (result == FARHASH_HIT)
		return DHT_SUCCESS;
	count(&table->read_misses);
	return DHT_READ_MISS;
}

int DHT_read(DHT *table, const void *key, void *destination) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	cache_key k;
	begin_key(table, key, &k);
	int result = farhash_cache_get(table->inside->cache, k.key, destination);
	end_key(&k);
	return found(table, result);
}

int DHT_read_location(DHT *table, uint32_t proc, uint32_t index, void *destination) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	if (proc == UINT32_MAX || index == UINT32_MAX) // it was written nowhere
		return found(table, FARHASH_MISS);
	char room[1024], *key = room;
	size_t bytes = table->inside->hash_bytes + table->key_size;
	if (bytes > sizeof room && !(key = malloc(bytes))) {
		farhash_refuse(FARHASH_ERROR_MEMORY, "farhash_dht: there is no memory for a key");
		return FH_DHT_NO_MEM;
	}
	int32_t rank = proc <= INT32_MAX ? (int32_t)proc : -1;
	int result = farhash_cache_get_at(table->inside->cache, rank, index, key, destination);
	if (key != room)
		free(key);
	return found(table, result);
}

void DHT_set_accumulate_callback(DHT *table, int (*callback)(int, void *, int, void *)) {
	if (fh_dht_usable(table))
		table->accumulate_callback = callback;
}

// accumulation is what the callback is called with.
struct accumulation {
	DHT *table;
	int size;
	void *data;
	int result;
};

static int accumulate(void *value, int there, void *argument) {
	struct accumulation *a = argument;
	(void)there; // what was not there is all zeros
	a->result = a->table->accumulate_callback(a->size, a->data, a->table->data_size, value);
	return a->result == 0;
}

int DHT_write_accumulate(DHT *table, const void *key, int send_size, void *data, uint32_t *proc,
	uint32_t *index, int *callback_ret) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	if (!table->accumulate_callback) {
		farhash_refuse(FARHASH_ERROR_ARGUMENT,
			"farhash_dht: there is no callback; call DHT_set_accumulate_callback first");
		return FH_DHT_ERROR;
	}
	struct accumulation a = {.table = table, .size = send_size, .data = data};
	cache_key k;
	int32_t rank = -1;
	uint64_t bucket = UINT64_MAX;
	begin_key(table, key, &k);
	int result = farhash_cache_update(table->inside->cache, k.key, accumulate, &a);
	if (result >= 0 && (proc || index))
		farhash_cache_locate(table->inside->cache, k.key, &rank, &bucket);
	end_key(&k);
	if (result >= 0 && callback_ret)
		*callback_ret = a.result;
	tell(rank, bucket, proc, index);
	return written(table, result);
}

int DHT_flush(DHT *table) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	int code = farhash_cache_clear(table->inside->cache);
	return code < 0 ? fh_dht_error(code) : DHT_SUCCESS;
}

enum { CANDIDATES = 6 };

float DHT_get_used_idx_factor(DHT *table, int with_reset) {
	double used = 0, examined = 0, left = 1;
	(void)with_reset; // nothing is counted
	if (!fh_dht_usable(table) || farhash_cache_used(table->inside->cache, &used) < 0)
		return FH_DHT_ERROR;
	for (int i = 0; i < CANDIDATES; i++, left *= used)
		examined += left;
	return (float)examined;
}

int DHT_barrier(DHT *table) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	return MPI_Barrier(table->comm) == MPI_SUCCESS ? DHT_SUCCESS : FH_DHT_ERROR;
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

// count_from subtracts the earlier counts from now, and stores the present ones as earlier ones.
// Buckets in use are not counted this way.
static void count_from(farhash_cache_stats *now, farhash_cache_stats *before) {
	farhash_cache_stats all = *now;
	now->hits -= before->hits;
	now->misses -= before->misses;
	now->inserted -= before->inserted;
	now->updated -= before->updated;
	now->evicted -= before->evicted;
	*before = all;
}

int DHT_print_statistics(DHT *table) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	struct farhash_dht *d = table->inside;
	farhash_cache_stats total, *ranks = calloc(table->comm_size, sizeof *ranks);
	int code = farhash_cache_all_stats(d->cache, ranks, &total);
	if (!d->counted)
		d->counted = calloc(table->comm_size + 1, sizeof *d->counted);
	if (!ranks || !d->counted) { // the other processes have been served
		free(ranks);
		return FH_DHT_NO_MEM;
	}
	if (code == FARHASH_OK) {
		for (int i = 0; i < table->comm_size; i++)
			count_from(&ranks[i], &d->counted[i]);
		count_from(&total, &d->counted[table->comm_size]);
	}
	if (code == FARHASH_OK && farhash_job_rank(d->job) == 0)
		print_all(table, ranks, &total);
	free(ranks);
	if (code < 0)
		return fh_dht_error(code);
	d->occupied = total.occupied;
	return DHT_SUCCESS;
}
