// Tables of one rank and of ranks that are threads, and calls that make no sense.
// Usage: basic DIRECTORY

#include <math.h>
#include <pthread.h>

#include "tables.h"

// Functions for farhash_index_build that give nothing of use.
static int no_record(const void **key, const void **value, size_t *value_size, void *argument) {
	(void)key, (void)value, (void)value_size;
	return argument != NULL;
}

static int broken_record(const void **key, const void **value, size_t *value_size,
	void *argument) {
	no_record(key, value, value_size, argument);
	return -42;
}

static void no_sense(farhash_job *job, const char *directory) {
	farhash_job *none = (farhash_job *)1;
	farhash_set *set;
	farhash_cache *cache;
	farhash_index *index;
	farhash_options options = {.timeout_seconds = -1};
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_join(NULL, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "timeout_seconds", farhash_join(&options, &none));
	CLAIM(none == NULL);
	options = (farhash_options){.reserved = {1}};
	FAILS(FARHASH_ERROR_ARGUMENT, "reserved", farhash_join(&options, &none));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_job_rank(NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_run(1, NULL, NULL, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "kind", farhash_set_contains((farhash_set *)job, 1));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_set_new(job, NULL, &set));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_set_find_or_put(set, 1));
	farhash_set_config config = {0};
	OK(farhash_set_new(job, &config, &set));
	CLAIM(farhash_set_find_or_put(set, 1) == FARHASH_INSERTED);
	OK(farhash_set_close(set));
	set = NULL;
	config.buckets = UINT64_MAX;
	FAILS(FARHASH_ERROR_ARGUMENT, "buckets", farhash_set_new(job, &config, &set));
	config.buckets = 1;
	config.reserved[1] = 1;
	FAILS(FARHASH_ERROR_ARGUMENT, "reserved", farhash_set_new(job, &config, &set));
	config.reserved[1] = 0;
	OK(farhash_set_new(job, &config, &set));
	FAILS(FARHASH_ERROR_ARGUMENT, "63 bits", farhash_set_find_or_put(set, UINT64_MAX));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_set_find_or_put_batch(set, NULL, 1, NULL));
	OK(farhash_set_find_or_put_batch(set, NULL, 0, NULL));
	uint64_t word = 1;
	uint8_t result;
	FAILS(FARHASH_ERROR_ARGUMENT, "longer than memory",
		farhash_set_find_or_put_batch(set, &word, SIZE_MAX, &result));
	FAILS(FARHASH_ERROR_ARGUMENT, "path", farhash_set_save(set, ""));
	FAILS(FARHASH_ERROR_FILE, "none", farhash_set_load(set, "/nonexistent/none"));
	char path[4096];
	snprintf(path, sizeof path, "%s/no-table", directory);
	FILE *f = fopen(path, "w");
	CLAIM(f && fputs("this is no table", f) >= 0 && fclose(f) == 0);
	FAILS(FARHASH_ERROR_FORMAT, "no checkpoint or saved table", farhash_set_load(set, path));
	FAILS(FARHASH_ERROR_FORMAT, "no index", farhash_index_load(job, path, NULL, &index));
	OK(farhash_set_close(set));
	FAILS(FARHASH_ERROR_ARGUMENT, "key_size", farhash_cache_new(job, &(farhash_cache_config){0}, &cache));
	CLAIM(cache == NULL);
	farhash_cache_config huge = {.key_size = UINT64_MAX, .value_size = 1, .buckets = 1};
	FAILS(FARHASH_ERROR_ARGUMENT, "key_size", farhash_cache_new(job, &huge, &cache));
	farhash_cache_config small = {.key_size = 8, .value_size = 8, .buckets = 1, .mode = 9};
	FAILS(FARHASH_ERROR_ARGUMENT, "mode", farhash_cache_new(job, &small, &cache));
	small.mode = 0;
	OK(farhash_cache_new(job, &small, &cache));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_cache_get(cache, &word, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_cache_update(cache, &word, NULL, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "longer than memory",
		farhash_cache_get_batch(cache, &word, SIZE_MAX / 8, &word, &result));
	farhash_map *map;
	FAILS(FARHASH_ERROR_ARGUMENT, "slots",
		farhash_map_new(job, &(farhash_map_config){.slots = UINT64_MAX}, &map));
	OK(farhash_map_new(job, &(farhash_map_config){0}, &map));
	OK(farhash_map_put(map, "a key", 5, "and its value", 13, NULL));
	OK(farhash_map_close(map));
	farhash_map_config pairs = {.slots = 8, .bytes = 1 << 12, .max_key = 8,
		.max_value = 100};
	OK(farhash_map_new(job, &pairs, &map));
	FAILS(FARHASH_ERROR_ARGUMENT, "key_size", farhash_map_put(map, "", 0, "", 0, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "value_size", farhash_map_put(map, "a", 1, path, 101, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_map_put(map, "a", 1, NULL, 1, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_map_compare_and_put(map, "a", 1, "", 0, NULL));
	OK(farhash_map_put(map, "a", 1, path, 100, NULL));
	FAILS(FARHASH_ERROR_ARGUMENT, "room is 99",
		farhash_map_get(map, "a", 1, path, 99, NULL, NULL));
	for (uint64_t i = 0; i < 1000; i++) { // slots and bytes of deleted keys are used again
		OK(farhash_map_put(map, &i, 8, path, 100, NULL));
		IS(1, farhash_map_delete(map, &i, 8));
	}
	farhash_map_call call = {.kind = 6, .key = "a", .key_size = 1};
	FAILS(FARHASH_ERROR_ARGUMENT, "kind is 6", farhash_map_batch(map, &call, 1));
	FAILS(FARHASH_ERROR_ARGUMENT, "key_size",
		farhash_index_build(job, &(farhash_index_config){0}, no_record, &word, &index));
	farhash_index_config records = {.key_size = 8, .value_size = 8};
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL",
		farhash_index_build(job, &records, no_record, &word, &index));
	IS(-42, farhash_index_build(job, &records, broken_record, NULL, &index));
	CLAIM(strstr(farhash_last_error(), "-42"));
	// The job takes its tables along.
	farhash_job *second;
	OK(farhash_join(NULL, &second));
	OK(farhash_set_new(second, &config, &set));
	OK(farhash_job_close(second));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_set_find_or_put(set, 1));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_job_close(second));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_job_size(second));
	OK(farhash_cache_close(cache));
	CLAIM(strcmp(farhash_error_name(FARHASH_ERROR_INTERNAL), "FARHASH_ERROR_INTERNAL") == 0);
	CLAIM(strcmp(farhash_error_name(-99), "") == 0 && strcmp(farhash_error_name(1), "") == 0);
	CLAIM(strcmp(farhash_version(), FARHASH_VERSION) == 0);
}

static void rounding(void) {
	double v[] = {1.23456, -0.0, 1e-30, NAN, 98765};
	OK(farhash_round(v, 5, (int32_t[]){3}, 1, (double[]){1e-20}, 1));
	CLAIM(v[0] == 1.23 && v[1] == 0 && !signbit(v[1]) && v[2] == 0 && isnan(v[3]) && v[4] == 98800);
	OK(farhash_round(v, 2, (int32_t[]){1, 0}, 2, NULL, 0));
	CLAIM(v[0] == 1);
	FAILS(FARHASH_ERROR_ARGUMENT, "digits", farhash_round(v, 5, (int32_t[]){1, 2}, 2, NULL, 0));
}

// The last error belongs to a thread.
static void *other_thread(void *set) {
	CLAIM(strcmp(farhash_last_error(), "") == 0);
	FAILS(FARHASH_ERROR_ARGUMENT, "63 bits", farhash_set_contains(set, UINT64_MAX));
	for (uint64_t i = 0; i < 1000; i++)
		CLAIM(farhash_set_find_or_put(set, i) > 0);
	return NULL;
}

static void threads(farhash_job *job) {
	pthread_t thread[4];
	farhash_set *set;
	uint64_t len;
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 2000}, &set));
	FAILS(FARHASH_ERROR_ARGUMENT, "NULL", farhash_set_contains(NULL, 1));
	for (int i = 0; i < 4; i++)
		CLAIM(pthread_create(&thread[i], NULL, other_thread, set) == 0);
	for (int i = 0; i < 4; i++)
		CLAIM(pthread_join(thread[i], NULL) == 0);
	CLAIM(strstr(farhash_last_error(), "NULL"));
	OK(farhash_set_len(set, &len));
	IS(1000, len);
	OK(farhash_set_close(set));
}

static int rank_main(farhash_job *job, void *directory) {
	try_tables(job, directory);
	return 0;
}

// Threads carry no requests, which matters where memory is not used directly.
static int accesses(farhash_job *job, void *hidden) {
	farhash_set *set;
	farhash_set_config config = {.buckets = 64, .access = FARHASH_SHIPPED};
	try_access(job, hidden ? FARHASH_ONE_SIDED : FARHASH_SHIPPED, 0);
	if (hidden)
		FAILS(FARHASH_ERROR_ARGUMENT, "FARHASH_AUTO or", farhash_set_new(job, &config, &set));
	return 0;
}

static int fails(farhash_job *job, void *argument) {
	(void)argument;
	if (farhash_job_rank(job) == 1)
		return 42;
	// The others do not wait for ever.
	IS(FARHASH_ERROR_RANK, farhash_job_barrier(job));
	return 0;
}

int main(int argc, char **argv) {
	const char *directory = argc > 1 ? argv[1] : ".";
	farhash_job *job;
	CLAIM(strcmp(farhash_last_error(), "") == 0);
	OK(farhash_join(NULL, &job));
	IS(0, farhash_job_rank(job));
	IS(1, farhash_job_size(job));
	no_sense(job, directory);
	rounding();
	threads(job);
	try_tables(job, directory);
	OK(farhash_job_close(job));
	farhash_options hidden = {.one_sided = 1};
	OK(farhash_join(&hidden, &job));
	try_tables(job, directory);
	OK(farhash_job_close(job));
	for (int ranks = 2; ranks <= 4; ranks += 2)
		OK(farhash_run(ranks, NULL, rank_main, (void *)directory));
	OK(farhash_run(2, &hidden, rank_main, (void *)directory));
	OK(farhash_run(2, NULL, accesses, NULL));
	OK(farhash_run(2, &hidden, accesses, &hidden));
	FAILS(FARHASH_ERROR_ARGUMENT, "ranks", farhash_run(0, NULL, rank_main, (void *)directory));
	IS(42, farhash_run(2, NULL, fails, NULL));
	puts("all is well");
	return 0;
}
