// Dump files of MPI-DHT: the sizes of keys and of data, as int, and then the entries, key and data,
// one after the other. Each process writes the entries in its memory, and reads its part of all.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

enum { PIECE_BYTES = 1 << 20, MAX_PATH = 4096 };

// dump is a file that a process reads or writes.
typedef struct {
	DHT *table;
	int fd;
	size_t entry;   // bytes of one
	uint64_t left;  // entries that this process has not read or written yet
	off_t at;       // of the next piece
	char *piece;    // PIECE_BYTES, and at least an entry
	size_t filled, room;
	int code;
} dump;

static int fail(dump *d, int code, const char *path, const char *why) {
	char text[MAX_PATH + 512];
	snprintf(text, sizeof text, "farhash_dht: %s: %s", path ? path : "the path is NULL", why);
	farhash_refuse(code == FH_DHT_ERROR ? FARHASH_ERROR_ARGUMENT : FARHASH_ERROR_FILE, text);
	return d->code = code;
}

// ready checks the arguments and gets memory.
static int ready(dump *d, DHT *table, const char *path) {
	*d = (dump){.table = table, .fd = -1,
		.entry = (size_t)table->key_size + (size_t)table->data_size};
	if (!path || !*path)
		return fail(d, FH_DHT_ERROR, path, "a file name is needed");
	if (strlen(path) >= MAX_PATH - 8)
		return fail(d, DHT_FILE_IO_ERROR, "a file name", "it is too long");
	d->room = PIECE_BYTES / d->entry * d->entry;
	if (!d->room)
		d->room = d->entry;
	d->piece = malloc(d->room);
	return d->piece ? DHT_SUCCESS : fail(d, FH_DHT_NO_MEM, path, "there is no memory to copy it");
}

// finish closes the file, and has all processes return the same.
static int finish(dump *d) {
	if (d->fd >= 0 && close(d->fd) < 0 && d->code == DHT_SUCCESS)
		d->code = DHT_FILE_IO_ERROR;
	free(d->piece);
	return fh_dht_outcome(d->table, d->code);
}

// ---- Writing ----

static int count_entry(const void *key, size_t key_size, const void *value, size_t value_size,
	void *argument) {
	(void)key, (void)key_size, (void)value, (void)value_size;
	++*(uint64_t *)argument;
	return 0;
}

static int flush(dump *d) {
	for (size_t done = 0; done < d->filled;) {
		ssize_t n = pwrite(d->fd, d->piece + done, d->filled - done, d->at + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			d->code = DHT_FILE_WRITE_ERROR;
			return 1;
		}
		done += (size_t)n;
	}
	d->at += (off_t)d->filled;
	d->filled = 0;
	return 0;
}

static int write_entry(const void *key, size_t key_size, const void *value, size_t value_size,
	void *argument) {
	dump *d = argument;
	size_t hash_bytes = d->table->inside->hash_bytes;
	if (!d->left) // it was put since
		return 1;
	d->left--;
	memcpy(d->piece + d->filled, (const char *)key + hash_bytes, key_size - hash_bytes);
	memcpy(d->piece + d->filled + key_size - hash_bytes, value, value_size);
	d->filled += d->entry;
	return d->filled == d->room ? flush(d) : 0;
}

// write_all writes the entries of this process after the entries of the processes before it.
static void write_all(dump *d, const char *path, const char *making, uint64_t before) {
	int rank = farhash_job_rank(d->table->inside->job);
	int header[2] = {d->table->key_size, d->table->data_size};
	d->fd = open(making, O_WRONLY | O_CREAT, 0666);
	if (d->fd < 0) {
		fail(d, DHT_FILE_IO_ERROR, path, strerror(errno));
		return;
	}
	d->at = DHT_FILEHEADER_SIZE + (off_t)(before * d->entry);
	int code = rank == 0 && pwrite(d->fd, header, sizeof header, 0) != sizeof header ?
		FARHASH_ERROR_FILE : farhash_cache_range(d->table->inside->cache, 1, write_entry, d);
	if (code < 0 || d->code != DHT_SUCCESS || flush(d) || fsync(d->fd) < 0)
		fail(d, DHT_FILE_WRITE_ERROR, path, strerror(errno));
	else if (d->left)
		fail(d, DHT_FILE_WRITE_ERROR, path, "the table changes while it is written");
}

int DHT_to_file(DHT *table, const char *filename) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	dump d;
	char making[MAX_PATH] = ""; // the file until it is complete
	uint64_t mine = 0, before = 0;
	int rank = farhash_job_rank(table->inside->job);
	MPI_Barrier(table->comm); // what came before has been written by all
	if (ready(&d, table, filename) == DHT_SUCCESS) {
		snprintf(making, sizeof making, "%s.part", filename);
		if (rank == 0)
			unlink(making);
		int code = farhash_cache_range(table->inside->cache, 1, count_entry, &mine);
		d.code = code < 0 ? fh_dht_error(code) : DHT_SUCCESS;
	}
	MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, table->comm);
	int code = fh_dht_outcome(table, d.code);
	if (code == DHT_SUCCESS) {
		d.left = mine;
		write_all(&d, filename, making, rank == 0 ? 0 : before);
	} else {
		d.code = code;
	}
	code = finish(&d);
	if (rank == 0 && code == DHT_SUCCESS && rename(making, filename) < 0)
		code = fail(&d, DHT_FILE_IO_ERROR, filename, strerror(errno));
	else if (rank == 0 && code != DHT_SUCCESS && *making)
		unlink(making);
	return fh_dht_outcome(table, code);
}

// ---- Reading ----

static int swapped(int size) { return (int)__builtin_bswap32((uint32_t)size); }

// check refuses what is no dump of such a table.
static int check(dump *d, const char *path, uint64_t *entries) {
	int header[2];
	char why[256];
	struct stat st;
	const DHT *t = d->table;
	d->fd = open(path, O_RDONLY);
	if (d->fd < 0 || fstat(d->fd, &st) < 0)
		return fail(d, DHT_FILE_IO_ERROR, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(d, DHT_FILE_IO_ERROR, path, "it is no file");
	if (pread(d->fd, header, sizeof header, 0) != sizeof header)
		return fail(d, DHT_FILE_READ_ERROR, path, "it is truncated");
	if (memcmp(header, "farhash", sizeof header) == 0)
		return fail(d, DHT_WRONG_FILE, path,
			"it is a file of farhash and no dump of MPI-DHT; load it with farhash_cache_load");
	if (header[0] != t->key_size || header[1] != t->data_size) {
		int other = swapped(header[0]) == t->key_size && swapped(header[1]) == t->data_size;
		snprintf(why, sizeof why, other ? "it was written with another byte order" :
			"it has keys of %d bytes and data of %d, and the table has %d and %d", header[0],
			header[1], t->key_size, t->data_size);
		return fail(d, DHT_WRONG_FILE, path, why);
	}
	*entries = (uint64_t)(st.st_size - DHT_FILEHEADER_SIZE) / d->entry;
	if ((uint64_t)st.st_size != DHT_FILEHEADER_SIZE + *entries * d->entry)
		return fail(d, DHT_FILE_READ_ERROR, path, "it is truncated: its last entry is not whole");
	return DHT_SUCCESS;
}

// fill reads the next piece, of whole entries.
static int fill(dump *d, const char *path) {
	size_t want = d->left < d->room / d->entry ? d->left * d->entry : d->room;
	for (d->filled = 0; d->filled < want;) {
		ssize_t n = pread(d->fd, d->piece + d->filled, want - d->filled, d->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(d, DHT_FILE_READ_ERROR, path, n < 0 ? strerror(errno) : "it is truncated");
		d->filled += (size_t)n;
		d->at += n;
	}
	d->left -= want / d->entry;
	return DHT_SUCCESS;
}

// put_piece puts the entries of a piece.
static int put_piece(dump *d) {
	DHT *t = d->table;
	size_t n = d->filled / d->entry, hash_bytes = t->inside->hash_bytes;
	size_t key_size = hash_bytes + (size_t)t->key_size, data_size = (size_t)t->data_size;
	char *keys = malloc(n * key_size), *values = malloc(n * data_size);
	uint8_t *results = malloc(n);
	int code = FARHASH_ERROR_MEMORY;
	if (keys && values && results) {
		for (size_t i = 0; i < n; i++) {
			const char *entry = d->piece + i * d->entry;
			fh_dht_key(t, entry, keys + i * key_size);
			memcpy(values + i * data_size, entry + t->key_size, data_size);
		}
		code = farhash_cache_put_batch(t->inside->cache, keys, n, values, results);
	}
	free(keys);
	free(values);
	free(results);
	return d->code = code < 0 ? fh_dht_error(code) : DHT_SUCCESS;
}

int DHT_from_file(DHT *table, const char *filename) {
	if (!fh_dht_usable(table))
		return FH_DHT_ERROR;
	dump d;
	uint64_t entries = 0;
	if (ready(&d, table, filename) == DHT_SUCCESS)
		check(&d, filename, &entries);
	int code = fh_dht_outcome(table, d.code);
	if (code != DHT_SUCCESS) {
		d.code = code;
		return finish(&d);
	}
	uint64_t rank = (uint64_t)farhash_job_rank(table->inside->job);
	uint64_t each = entries / (uint64_t)table->comm_size;
	uint64_t more = entries % (uint64_t)table->comm_size;
	uint64_t first = rank * each + (rank < more ? rank : more);
	d.left = each + (rank < more);
	d.at = DHT_FILEHEADER_SIZE + (off_t)(first * d.entry);
	while (d.left && fill(&d, filename) == DHT_SUCCESS && put_piece(&d) == DHT_SUCCESS) {
	}
	return finish(&d);
}
