// Every function of farhash.h with arguments that make no sense: NULL, 0, huge, negative, and
// handles of something else. Usage: arguments

#include <ctype.h>
#include <math.h>

#include "try.h"

// in_c claims that the last error has a text, and no names of Go, such as KeySize.
static void in_c(int line) {
	const char *text = farhash_last_error();
	int wrong = strlen(text) < 20;
	for (const char *c = text; *c; c++)
		wrong |= isupper((unsigned char)c[0]) && islower((unsigned char)c[1]) &&
			islower((unsigned char)c[2]) && isalpha((unsigned char)c[3]) && // not TiB, not Inf
			(c == text || !isalnum((unsigned char)c[-1]));
	if (wrong) {
		fprintf(stderr, "arguments.c:%d: the last error is %s\n", line, text);
		exit(1);
	}
}

// REFUSED claims that a call fails for its arguments.
#define REFUSED(call) \
	do { \
		IS(FARHASH_ERROR_ARGUMENT, call); \
		in_c(__LINE__); \
	} while (0)

// HANDLES does so with handles that are NULL or of something else, by the name it.
#define HANDLES(type, other, call) \
	do { \
		type *it = NULL; \
		REFUSED(call); \
		it = (type *)(other); \
		REFUSED(call); \
	} while (0)

// LACKS does so where a call needs memory that the machine cannot have, or refuses the number.
#define LACKS(call) \
	do { \
		int code_ = call; \
		CLAIM(code_ == FARHASH_ERROR_MEMORY || code_ == FARHASH_ERROR_ARGUMENT); \
		in_c(__LINE__); \
	} while (0)

static farhash_job *job;
static farhash_set *set;
static farhash_bytes *elements;
static farhash_cache *cache;
static farhash_map *map;
static farhash_index *x;
static uint64_t word, other;
static uint8_t result, bytes[64];
static int32_t number;
static uint32_t count;
static size_t size;

static int no_rank(farhash_job *j, void *argument) { return j == argument; }
static void plain(void *argument) { (void)argument; }
static int no_update(void *value, int found, void *argument) {
	return value == argument && found;
}
static int no_pair(const void *key, size_t key_size, const void *value, size_t value_size,
	void *argument) {
	return key == value && key_size == value_size && argument;
}
static int no_next(const void **key, const void **value, size_t *value_size, void *argument) {
	return key && value && value_size && argument;
}
static void no_found(size_t i, const void *value, size_t value_size, void *argument) {
	(void)i, (void)value, (void)value_size, (void)argument;
}

static void jobs(void) {
	farhash_job *none;
	double wrong[] = {-1, -INFINITY, INFINITY, NAN, 1e300};
	REFUSED(farhash_join(NULL, NULL));
	for (int i = 0; i < 5; i++) {
		farhash_options options = {.timeout_seconds = wrong[i]};
		REFUSED(farhash_join(&options, &none));
		REFUSED(farhash_join_fortran_comm(0, &options, &none));
		REFUSED(farhash_run(1, &options, no_rank, NULL));
		CLAIM(!none);
	}
	farhash_options options = {.reserved = {[5] = 1}};
	REFUSED(farhash_join(&options, &none));
	REFUSED(farhash_join_fortran_comm(0, &options, &none));
	REFUSED(farhash_join_fortran_comm(0, NULL, NULL));
	REFUSED(farhash_run(1, &options, no_rank, NULL));
	REFUSED(farhash_run(1, NULL, NULL, NULL));
	REFUSED(farhash_run(0, NULL, no_rank, NULL));
	REFUSED(farhash_run(-1, NULL, no_rank, NULL));
	REFUSED(farhash_run(INT32_MAX, NULL, no_rank, NULL));
	REFUSED(farhash_run(INT32_MIN, NULL, no_rank, NULL));
	HANDLES(farhash_job, set, farhash_job_rank(it));
	HANDLES(farhash_job, set, farhash_job_size(it));
	HANDLES(farhash_job, set, farhash_job_barrier(it));
	HANDLES(farhash_job, set, farhash_job_close(it));
	REFUSED(farhash_exclusive(NULL, NULL));
	OK(farhash_exclusive(plain, NULL));
}

static void set_configs(farhash_set_config good) {
	farhash_set *none;
	farhash_set_config wrong[] = {{.buckets = UINT64_MAX}, {.chunk = 7}, {.chunk = 1 << 30},
		{.chunk = UINT32_MAX}, {.chunks = UINT32_MAX}, {.depth = UINT32_MAX}, {.depth = 65537},
		{.access = 3}, {.access = -1},
		{.reserved = {1}}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		if (i > 0)
			wrong[i].buckets = good.buckets;
		REFUSED(farhash_set_new(job, &wrong[i], &none));
		farhash_bytes_config all = {.set = wrong[i], .element_bytes = 8};
		farhash_bytes *no_elements;
		REFUSED(farhash_bytes_new(job, &all, &no_elements));
		CLAIM(!none && !no_elements);
	}
	good.buckets = UINT64_C(1) << 43;
	LACKS(farhash_set_new(job, &good, &none));
}

static void sets(void) {
	farhash_set_config config = {.buckets = 64};
	HANDLES(farhash_job, set, farhash_set_new(it, &config, &set));
	CLAIM(!set);
	OK(farhash_set_new(job, &config, &set));
	REFUSED(farhash_set_new(job, &config, NULL));
	farhash_set *none;
	REFUSED(farhash_set_new(job, NULL, &none));
	set_configs(config);
	HANDLES(farhash_set, job, farhash_set_find_or_put(it, 1));
	HANDLES(farhash_set, job, farhash_set_contains(it, 1));
	HANDLES(farhash_set, job, farhash_set_find_or_put_batch(it, &word, 1, &result));
	HANDLES(farhash_set, job, farhash_set_contains_batch(it, &word, 1, &result));
	HANDLES(farhash_set, job, farhash_set_len(it, &word));
	HANDLES(farhash_set, job, farhash_set_buckets(it, &word));
	farhash_set_stats stats;
	HANDLES(farhash_set, job, farhash_set_stats_get(it, &stats));
	farhash_shipping shipping;
	HANDLES(void, job, farhash_shipping_get(it, &shipping));
	REFUSED(farhash_shipping_get(set, NULL));
	HANDLES(farhash_set, job, farhash_set_save(it, "x"));
	HANDLES(farhash_set, job, farhash_set_load(it, "x"));
	HANDLES(farhash_set, job, farhash_set_check(it));
	HANDLES(farhash_set, job, farhash_set_close(it));
	REFUSED(farhash_set_find_or_put(set, FARHASH_MAX_WORD + UINT64_C(1)));
	REFUSED(farhash_set_contains(set, UINT64_MAX));
	uint64_t words[] = {1, UINT64_MAX};
	uint8_t results[2];
	REFUSED(farhash_set_find_or_put_batch(set, words, 2, results));
	IS(FARHASH_NOT_FOUND, farhash_set_contains(set, 1)); // nothing has been done
	REFUSED(farhash_set_contains_batch(set, words, 2, results));
	REFUSED(farhash_set_find_or_put_batch(set, NULL, 1, &result));
	REFUSED(farhash_set_find_or_put_batch(set, &word, 1, NULL));
	REFUSED(farhash_set_find_or_put_batch(set, &word, SIZE_MAX, &result));
	REFUSED(farhash_set_contains_batch(set, NULL, 1, &result));
	REFUSED(farhash_set_contains_batch(set, &word, 1, NULL));
	REFUSED(farhash_set_contains_batch(set, &word, SIZE_MAX, &result));
	REFUSED(farhash_set_len(set, NULL));
	REFUSED(farhash_set_buckets(set, NULL));
	REFUSED(farhash_set_stats_get(set, NULL));
	REFUSED(farhash_set_save(set, NULL));
	REFUSED(farhash_set_save(set, ""));
	REFUSED(farhash_set_load(set, NULL));
	REFUSED(farhash_set_load(set, ""));
	for (int i = 0; i < 60; i++)
		CLAIM(farhash_set_find_or_put(set, i) > 0);
}

static void bytes_configs(farhash_bytes_config good) {
	farhash_bytes *none;
	REFUSED(farhash_bytes_new(job, NULL, &none));
	REFUSED(farhash_bytes_new(job, &good, NULL));
	farhash_bytes_config wrong[] = {{.element_bytes = 4097}, {.element_bytes = INT64_MAX},
		{.element_bytes = UINT64_MAX}, {.reserved = {1}}, {.set.reserved = {1}},
		{.capacity = UINT64_MAX}, {.capacity = UINT64_MAX, .element_bytes = 8}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		wrong[i].set.buckets = good.set.buckets;
		REFUSED(farhash_bytes_new(job, &wrong[i], &none));
		CLAIM(!none);
	}
}

static void bytes_handles(void) {
	farhash_element good = {bytes, 8};
	HANDLES(farhash_bytes, job, farhash_bytes_find_or_put(it, bytes, 8));
	HANDLES(farhash_bytes, job, farhash_bytes_contains(it, bytes, 8));
	HANDLES(farhash_bytes, job, farhash_bytes_find_or_put_batch(it, &good, 1, &result, NULL));
	HANDLES(farhash_bytes, job, farhash_bytes_contains_batch(it, &good, 1, &result));
	HANDLES(farhash_bytes, job, farhash_bytes_find_or_put_packed(it, bytes, 1, &result, NULL));
	HANDLES(farhash_bytes, job, farhash_bytes_contains_packed(it, bytes, 1, &result));
	HANDLES(farhash_bytes, job, farhash_bytes_get(it, 0, bytes, 8, &size));
	HANDLES(farhash_bytes, job, farhash_bytes_element_bytes(it, &word));
	HANDLES(farhash_bytes, job, farhash_bytes_len(it, &word));
	HANDLES(farhash_bytes, job, farhash_bytes_buckets(it, &word));
	farhash_set_stats stats;
	HANDLES(farhash_bytes, set, farhash_bytes_stats_get(it, &stats));
	HANDLES(farhash_bytes, job, farhash_bytes_save(it, "x"));
	HANDLES(farhash_bytes, job, farhash_bytes_load(it, "x"));
	HANDLES(farhash_bytes, job, farhash_bytes_check(it));
	HANDLES(farhash_bytes, job, farhash_bytes_close(it));
}

// bytes_calls has a set of one length, or of any, refuse what both refuse, and elements of a size.
static void bytes_calls(farhash_bytes *b, size_t wrong_size) {
	farhash_element good = {bytes, 8}, wrong[] = {{NULL, 8}, {bytes, wrong_size}, {bytes, SIZE_MAX}};
	for (int i = 0; i < 3; i++) {
		farhash_element batch[] = {good, wrong[i]};
		uint8_t answers[2];
		REFUSED(farhash_bytes_find_or_put(b, wrong[i].data, wrong[i].size));
		REFUSED(farhash_bytes_contains(b, wrong[i].data, wrong[i].size));
		REFUSED(farhash_bytes_find_or_put_batch(b, batch, 2, answers, NULL));
		REFUSED(farhash_bytes_contains_batch(b, batch, 2, answers));
	}
	IS(FARHASH_NOT_FOUND, farhash_bytes_contains(b, bytes, 8)); // nothing has been done
	REFUSED(farhash_bytes_find_or_put_batch(b, NULL, 1, &result, NULL));
	REFUSED(farhash_bytes_find_or_put_batch(b, &good, 1, NULL, NULL));
	REFUSED(farhash_bytes_find_or_put_batch(b, &good, SIZE_MAX, &result, NULL));
	REFUSED(farhash_bytes_contains_batch(b, NULL, 1, &result));
	REFUSED(farhash_bytes_contains_batch(b, &good, 1, NULL));
	REFUSED(farhash_bytes_contains_batch(b, &good, SIZE_MAX, &result));
	REFUSED(farhash_bytes_find_or_put_packed(b, NULL, 1, &result, NULL));
	REFUSED(farhash_bytes_find_or_put_packed(b, bytes, 1, NULL, NULL));
	REFUSED(farhash_bytes_find_or_put_packed(b, bytes, SIZE_MAX, &result, NULL));
	REFUSED(farhash_bytes_contains_packed(b, NULL, 1, &result));
	REFUSED(farhash_bytes_contains_packed(b, bytes, 1, NULL));
	REFUSED(farhash_bytes_contains_packed(b, bytes, SIZE_MAX / 4, &result));
	REFUSED(farhash_bytes_get(b, 0, NULL, 8, NULL));
	REFUSED(farhash_bytes_get(b, UINT64_MAX, bytes, 8, &size));
	REFUSED(farhash_bytes_element_bytes(b, NULL));
	REFUSED(farhash_bytes_len(b, NULL));
	REFUSED(farhash_bytes_buckets(b, NULL));
	REFUSED(farhash_bytes_stats_get(b, NULL));
	REFUSED(farhash_bytes_save(b, NULL));
	REFUSED(farhash_bytes_save(b, ""));
	REFUSED(farhash_bytes_load(b, NULL));
	REFUSED(farhash_bytes_load(b, ""));
}

static void byte_strings(void) {
	farhash_bytes_config config = {.set.buckets = 64, .element_bytes = 8};
	farhash_bytes *strings;
	HANDLES(farhash_job, set, farhash_bytes_new(it, &config, &elements));
	bytes_configs(config);
	bytes_handles();
	OK(farhash_bytes_new(job, &config, &elements));
	size_t sizes[] = {0, 7, 9, 65537};
	for (int i = 0; i < 4; i++)
		bytes_calls(elements, sizes[i]);
	OK(farhash_bytes_new(job, &(farhash_bytes_config){.set.max_bytes = 16 << 20}, &strings));
	bytes_calls(strings, 65537);
	REFUSED(farhash_bytes_find_or_put_packed(strings, bytes, 1, &result, NULL));
	REFUSED(farhash_bytes_contains_packed(strings, bytes, 1, &result));
	OK(farhash_bytes_close(strings));
}

static void cache_configs(farhash_cache_config good) {
	farhash_cache *none;
	farhash_cache_config wrong[16];
	for (int i = 0; i < 16; i++)
		wrong[i] = good;
	wrong[0].key_size = 0;
	wrong[1].key_size = UINT64_MAX;
	wrong[2].value_size = 0;
	wrong[3].value_size = UINT64_MAX;
	wrong[4].buckets = 0;
	wrong[5].buckets = UINT64_MAX;
	wrong[6].mode = 3;
	wrong[7].mode = INT32_MIN;
	wrong[8].group_buckets = 9;
	wrong[9].group_buckets = UINT32_MAX;
	wrong[10].choices = 9;
	wrong[11].choices = UINT32_MAX;
	wrong[12].depth = UINT32_MAX;
	wrong[13].reserved[3] = 1;
	wrong[14].access = 3;
	wrong[15].ttl_seconds = NAN;
	for (int i = 0; i < 16; i++) {
		REFUSED(farhash_cache_new(job, &wrong[i], &none));
		CLAIM(!none);
	}
	good.buckets = UINT64_C(1) << 39;
	LACKS(farhash_cache_new(job, &good, &none));
}

static void caches(void) {
	farhash_cache_config config = {.key_size = 8, .value_size = 8, .buckets = 64};
	HANDLES(farhash_job, set, farhash_cache_new(it, &config, &cache));
	OK(farhash_cache_new(job, &config, &cache));
	REFUSED(farhash_cache_new(job, &config, NULL));
	farhash_cache *none;
	REFUSED(farhash_cache_new(job, NULL, &none));
	cache_configs(config);
	farhash_cache_stats stats;
	double used;
	HANDLES(farhash_cache, job, farhash_cache_get(it, &word, &other));
	HANDLES(farhash_cache, job, farhash_cache_put(it, &word, &other));
	HANDLES(farhash_cache, job, farhash_cache_put_ttl(it, &word, &other, 0));
	HANDLES(farhash_cache, job, farhash_cache_delete(it, &word));
	HANDLES(farhash_cache, job, farhash_cache_get_batch(it, &word, 1, &other, &result));
	HANDLES(farhash_cache, job, farhash_cache_put_batch(it, &word, 1, &other, &result));
	HANDLES(farhash_cache, job,
		farhash_cache_put_batch_ttl(it, &word, 1, &other, 0, &result));
	HANDLES(farhash_cache, job, farhash_cache_update(it, &word, no_update, NULL));
	HANDLES(farhash_cache, job, farhash_cache_stats_get(it, &stats));
	HANDLES(farhash_cache, job, farhash_cache_all_stats(it, NULL, &stats));
	HANDLES(farhash_cache, job, farhash_cache_locate(it, &word, &number, &other));
	HANDLES(farhash_cache, job, farhash_cache_put_located(it, &word, &other, &number, &other));
	HANDLES(farhash_cache, job, farhash_cache_get_at(it, 0, 0, &word, &other));
	HANDLES(farhash_cache, job, farhash_cache_range(it, 0, no_pair, NULL));
	HANDLES(farhash_cache, job, farhash_cache_len(it, &word));
	HANDLES(farhash_cache, job, farhash_cache_clear(it));
	HANDLES(farhash_cache, job, farhash_cache_used(it, &used));
	HANDLES(farhash_cache, job, farhash_cache_buckets(it, &word));
	HANDLES(farhash_cache, job, farhash_cache_save(it, "x"));
	HANDLES(farhash_cache, job, farhash_cache_load(it, "x"));
	HANDLES(farhash_cache, job, farhash_cache_check(it));
	HANDLES(farhash_cache, job, farhash_cache_close(it));
	HANDLES(farhash_cache, job, farhash_cache_sizes(it, &word, &other));
	REFUSED(farhash_cache_sizes(cache, &word, NULL));
	REFUSED(farhash_cache_get(cache, NULL, &other));
	REFUSED(farhash_cache_get(cache, &word, NULL));
	REFUSED(farhash_cache_put(cache, NULL, &other));
	REFUSED(farhash_cache_put(cache, &word, NULL));
	REFUSED(farhash_cache_put_ttl(cache, NULL, &other, 0));
	REFUSED(farhash_cache_put_ttl(cache, &word, NULL, 0));
	REFUSED(farhash_cache_put_ttl(cache, &word, &other, 1));
	REFUSED(farhash_cache_put_ttl(cache, &word, &other, NAN));
	REFUSED(farhash_cache_delete(cache, NULL));
	REFUSED(farhash_cache_get_batch(cache, NULL, 1, &other, &result));
	REFUSED(farhash_cache_get_batch(cache, &word, 1, NULL, &result));
	REFUSED(farhash_cache_get_batch(cache, &word, 1, &other, NULL));
	REFUSED(farhash_cache_get_batch(cache, &word, SIZE_MAX / 16, &other, &result));
	REFUSED(farhash_cache_put_batch(cache, NULL, 1, &other, &result));
	REFUSED(farhash_cache_put_batch(cache, &word, 1, NULL, &result));
	REFUSED(farhash_cache_put_batch(cache, &word, 1, &other, NULL));
	REFUSED(farhash_cache_put_batch(cache, &word, SIZE_MAX, &other, &result));
	REFUSED(farhash_cache_put_batch_ttl(cache, NULL, 1, &other, 0, &result));
	REFUSED(farhash_cache_put_batch_ttl(cache, &word, 1, NULL, 0, &result));
	REFUSED(farhash_cache_put_batch_ttl(cache, &word, 1, &other, 0, NULL));
	REFUSED(farhash_cache_put_batch_ttl(cache, &word, 1, &other, 1, &result));
	REFUSED(farhash_cache_update(cache, NULL, no_update, NULL));
	REFUSED(farhash_cache_update(cache, &word, NULL, NULL));
	REFUSED(farhash_cache_stats_get(cache, NULL));
	REFUSED(farhash_cache_all_stats(cache, NULL, NULL));
	REFUSED(farhash_cache_locate(cache, NULL, &number, &other));
	REFUSED(farhash_cache_locate(cache, &word, NULL, &other));
	REFUSED(farhash_cache_locate(cache, &word, &number, NULL));
	REFUSED(farhash_cache_put_located(cache, NULL, &other, &number, &other));
	REFUSED(farhash_cache_put_located(cache, &word, NULL, &number, &other));
	REFUSED(farhash_cache_put_located(cache, &word, &other, NULL, &other));
	REFUSED(farhash_cache_put_located(cache, &word, &other, &number, NULL));
	REFUSED(farhash_cache_get_at(cache, -1, 0, &word, &other));
	REFUSED(farhash_cache_get_at(cache, 0, 64, &word, &other));
	REFUSED(farhash_cache_get_at(cache, 0, 0, NULL, &other));
	REFUSED(farhash_cache_get_at(cache, 0, 0, &word, NULL));
	REFUSED(farhash_cache_range(cache, 1, NULL, NULL));
	REFUSED(farhash_cache_len(cache, NULL));
	REFUSED(farhash_cache_used(cache, NULL));
	REFUSED(farhash_cache_buckets(cache, NULL));
	REFUSED(farhash_cache_save(cache, NULL));
	REFUSED(farhash_cache_save(cache, ""));
	REFUSED(farhash_cache_load(cache, NULL));
	REFUSED(farhash_cache_load(cache, ""));
	double value = 1;
	REFUSED(farhash_round(NULL, 1, &number, 1, NULL, 0));
	REFUSED(farhash_round(&value, 1, NULL, 1, NULL, 0));
	REFUSED(farhash_round(&value, 1, &number, 1, NULL, 1));
	REFUSED(farhash_round(&value, SIZE_MAX, &number, 1, NULL, 0));
	REFUSED(farhash_round(&value, 1, &number, SIZE_MAX, NULL, 0));
	REFUSED(farhash_round(&value, 1, &number, 0, NULL, 0));
	REFUSED(farhash_round(&value, 1, (int32_t[]){-1}, 1, NULL, 0));
	REFUSED(farhash_round(&value, 1, (int32_t[]){1, 2}, 2, NULL, 0));
	REFUSED(farhash_round(&value, 1, &number, 1, (double[]){-1}, 1));
	REFUSED(farhash_round(&value, 1, &number, 1, (double[]){NAN}, 1));
}

static void map_configs(farhash_map_config good) {
	farhash_map *none;
	farhash_map_config wrong[10];
	for (int i = 0; i < 10; i++)
		wrong[i] = good;
	wrong[0].bytes = 0;
	wrong[0].max_bytes = 1;
	wrong[1].slots = UINT64_MAX;
	wrong[2].max_bytes = 1 << 14;
	wrong[3].bytes = UINT64_MAX;
	wrong[4].max_key = FARHASH_MAX_PAIR + 1;
	wrong[5].max_key = UINT32_MAX;
	wrong[6].max_value = FARHASH_MAX_PAIR + 1;
	wrong[7].chunk = UINT32_MAX;
	wrong[8].depth = UINT32_MAX;
	wrong[9].access = INT32_MAX;
	for (int i = 0; i < 10; i++) {
		REFUSED(farhash_map_new(job, &wrong[i], &none));
		CLAIM(!none);
	}
	good.reserved[0] = 1;
	REFUSED(farhash_map_new(job, &good, &none));
	good.reserved[0] = 0;
	good.slots = UINT64_C(1) << 39;
	LACKS(farhash_map_new(job, &good, &none));
}

static void maps(void) {
	farhash_map_config config = {.slots = 64, .bytes = 1 << 14, .max_key = 8,
		.max_value = 8};
	HANDLES(farhash_job, set, farhash_map_new(it, &config, &map));
	OK(farhash_map_new(job, &config, &map));
	REFUSED(farhash_map_new(job, &config, NULL));
	farhash_map *none;
	REFUSED(farhash_map_new(job, NULL, &none));
	map_configs(config);
	farhash_map_call call = {.kind = FARHASH_DELETE, .key = "k", .key_size = 1};
	farhash_map_stats stats;
	HANDLES(farhash_map, job, farhash_map_get(it, "k", 1, bytes, 8, &size, &word));
	HANDLES(farhash_map, job, farhash_map_put(it, "k", 1, bytes, 8, &word));
	HANDLES(farhash_map, job, farhash_map_put_if_absent(it, "k", 1, bytes, 8, &word));
	HANDLES(farhash_map, job, farhash_map_compare_and_put(it, "k", 1, bytes, 8, &word));
	int64_t sum;
	HANDLES(farhash_map, job, farhash_map_add(it, "k", 1, 1, &sum, &word));
	HANDLES(farhash_map, job, farhash_map_delete(it, "k", 1));
	HANDLES(farhash_map, job, farhash_map_batch(it, &call, 1));
	HANDLES(farhash_map, job, farhash_map_range(it, no_pair, NULL));
	HANDLES(farhash_map, job, farhash_map_stats_get(it, &stats));
	HANDLES(farhash_map, job, farhash_map_len(it, &word));
	HANDLES(farhash_map, job, farhash_map_save(it, "x"));
	HANDLES(farhash_map, job, farhash_map_load(it, "x"));
	HANDLES(farhash_map, job, farhash_map_check(it));
	HANDLES(farhash_map, job, farhash_map_close(it));
	size_t sizes[] = {0, 9, SIZE_MAX};
	for (int i = 0; i < 3; i++) {
		REFUSED(farhash_map_get(map, "k", sizes[i], bytes, 8, &size, &word));
		REFUSED(farhash_map_put(map, "k", sizes[i], bytes, 8, &word));
		REFUSED(farhash_map_put_if_absent(map, "k", sizes[i], bytes, 8, &word));
		REFUSED(farhash_map_compare_and_put(map, "k", sizes[i], bytes, 8, &word));
		REFUSED(farhash_map_add(map, "k", sizes[i], 1, &sum, &word));
		REFUSED(farhash_map_delete(map, "k", sizes[i]));
		if (i == 0)
			continue;
		REFUSED(farhash_map_put(map, "k", 1, bytes, sizes[i], &word));
		REFUSED(farhash_map_put_if_absent(map, "k", 1, bytes, sizes[i], &word));
		REFUSED(farhash_map_compare_and_put(map, "k", 1, bytes, sizes[i], &word));
	}
	REFUSED(farhash_map_get(map, NULL, 1, bytes, 8, &size, &word));
	REFUSED(farhash_map_get(map, "k", 1, NULL, 8, &size, &word));
	REFUSED(farhash_map_get(map, "k", 1, bytes, SIZE_MAX, &size, &word));
	REFUSED(farhash_map_put(map, NULL, 1, bytes, 8, &word));
	REFUSED(farhash_map_put(map, "k", 1, NULL, 8, &word));
	REFUSED(farhash_map_put_if_absent(map, NULL, 1, bytes, 8, &word));
	REFUSED(farhash_map_put_if_absent(map, "k", 1, NULL, 8, &word));
	REFUSED(farhash_map_compare_and_put(map, NULL, 1, bytes, 8, &word));
	REFUSED(farhash_map_compare_and_put(map, "k", 1, NULL, 8, &word));
	REFUSED(farhash_map_compare_and_put(map, "k", 1, bytes, 8, NULL));
	REFUSED(farhash_map_add(map, NULL, 1, 1, &sum, &word));
	OK(farhash_map_put(map, "k", 1, bytes, 3, &word));
	REFUSED(farhash_map_add(map, "k", 1, 1, &sum, &word));
	REFUSED(farhash_map_delete(map, NULL, 1));
	REFUSED(farhash_map_batch(map, NULL, 1));
	REFUSED(farhash_map_batch(map, &call, SIZE_MAX));
	farhash_map_call add = {.kind = FARHASH_ADD, .key = "k", .key_size = 1};
	REFUSED(farhash_map_batch(map, &add, 1));
	call.kind = -1;
	REFUSED(farhash_map_batch(map, &call, 1));
	REFUSED(farhash_map_range(map, NULL, NULL));
	REFUSED(farhash_map_stats_get(map, NULL));
	REFUSED(farhash_map_len(map, NULL));
	REFUSED(farhash_map_save(map, NULL));
	REFUSED(farhash_map_save(map, ""));
	REFUSED(farhash_map_load(map, NULL));
	REFUSED(farhash_map_load(map, ""));
}

static void index_configs(farhash_index_config good) {
	farhash_index *none;
	farhash_index_config wrong[15];
	char note[FARHASH_MAX_NOTE + 2] = {0};
	for (int i = 0; i < 15; i++)
		wrong[i] = good;
	wrong[0].key_size = 0;
	wrong[1].key_size = 3;
	wrong[2].key_size = UINT64_MAX;
	wrong[3].value_size = 4097;
	wrong[4].value_size = UINT64_MAX;
	wrong[5].load = -1;
	wrong[6].load = 2;
	wrong[7].load = NAN;
	wrong[8].max_copies = UINT64_MAX;
	wrong[9].depth = UINT32_MAX;
	wrong[10].reserved[3] = 1;
	wrong[11].max_memory_bytes = 1;
	wrong[12].access = -1;
	memset(note, 'a', FARHASH_MAX_NOTE + 1);
	wrong[13].note = note;
	wrong[14].note = "\xff";
	for (int i = 0; i < 15; i++) {
		REFUSED(farhash_index_build(job, &wrong[i], no_next, NULL, &none));
		CLAIM(!none);
		if (i >= 5 && i < 13 && i != 11)
			REFUSED(farhash_index_load(job, "/dev/null", &wrong[i], &none));
	}
}

static void indexes(void) {
	char text[8];
	farhash_index_config config = {.key_size = 8, .value_size = 8};
	HANDLES(farhash_job, set, farhash_index_build(it, &config, no_next, NULL, &x));
	HANDLES(farhash_job, set, farhash_index_load(it, "x", &config, &x));
	OK(farhash_index_build(job, &config, no_next, NULL, &x));
	REFUSED(farhash_index_build(job, &config, no_next, NULL, NULL));
	farhash_index *none;
	REFUSED(farhash_index_build(job, NULL, no_next, NULL, &none));
	REFUSED(farhash_index_build(job, &config, NULL, NULL, &none));
	HANDLES(farhash_job, set,
		farhash_index_build_batch(it, &config, &word, &word, NULL, 1, &none));
	REFUSED(farhash_index_build_batch(job, &config, &word, &word, NULL, 1, NULL));
	REFUSED(farhash_index_build_batch(job, NULL, &word, &word, NULL, 1, &none));
	REFUSED(farhash_index_build_batch(job, &config, NULL, &word, NULL, 1, &none));
	REFUSED(farhash_index_build_batch(job, &config, &word, NULL, NULL, 1, &none));
	REFUSED(farhash_index_build_batch(job, &config, &word, &word, NULL, SIZE_MAX, &none));
	config.variable = 1;
	size = 9;
	REFUSED(farhash_index_build_batch(job, &config, &word, &word, NULL, 1, &none));
	REFUSED(farhash_index_build_batch(job, &config, &word, &word, &size, 1, &none));
	config.variable = 0;
	REFUSED(farhash_index_load(job, NULL, NULL, &none));
	REFUSED(farhash_index_load(job, "", NULL, &none));
	REFUSED(farhash_index_load(job, "x", NULL, NULL));
	index_configs(config);
	HANDLES(farhash_index, job, farhash_index_save(it, "x"));
	HANDLES(farhash_index, job, farhash_index_get(it, &word, &other, NULL));
	HANDLES(farhash_index, job, farhash_index_get_batch(it, &word, 1, &other, NULL, &count));
	HANDLES(farhash_index, job, farhash_index_lookup(it, &word, 1, no_found, NULL));
	HANDLES(farhash_index, job, farhash_index_len(it, &word));
	HANDLES(farhash_index, job, farhash_index_check(it));
	HANDLES(farhash_index, job, farhash_index_close(it));
	REFUSED(farhash_index_save(x, NULL));
	REFUSED(farhash_index_save(x, ""));
	REFUSED(farhash_index_get(x, NULL, &other, NULL));
	REFUSED(farhash_index_get(x, &word, NULL, NULL));
	REFUSED(farhash_index_get_batch(x, NULL, 1, &other, NULL, &count));
	REFUSED(farhash_index_get_batch(x, &word, 1, NULL, NULL, &count));
	REFUSED(farhash_index_get_batch(x, &word, 1, &other, NULL, NULL));
	REFUSED(farhash_index_get_batch(x, &word, SIZE_MAX, &other, NULL, &count));
	REFUSED(farhash_index_lookup(x, NULL, 1, no_found, NULL));
	REFUSED(farhash_index_lookup(x, &word, 1, NULL, NULL));
	REFUSED(farhash_index_lookup(x, &word, SIZE_MAX, no_found, NULL));
	REFUSED(farhash_index_len(x, NULL));
	HANDLES(farhash_index, job, farhash_index_sizes(it, &word, &word, NULL));
	HANDLES(farhash_index, job, farhash_index_note(it, text, sizeof text));
	REFUSED(farhash_index_note(x, NULL, 8));
	REFUSED(farhash_index_note(x, text, 0));
	REFUSED(farhash_index_sizes(x, NULL, &word, NULL));
	REFUSED(farhash_index_sizes(x, &word, NULL, NULL));
}

static void by_name(void) {
	farhash_open_options wrong[] = {{.mode = 07777}, {.mode = 0400}, {.reserved = {[4] = 1}}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		farhash_map *no_map;
		REFUSED(farhash_map_open("/dev/shm", NULL, &wrong[i], &no_map));
		CLAIM(!no_map);
	}
	REFUSED(farhash_set_open(NULL, NULL, NULL, &set));
	REFUSED(farhash_bytes_open("", NULL, NULL, &elements));
	REFUSED(farhash_cache_open("/dev/shm", NULL, NULL, NULL));
	IS(FARHASH_ERROR_FORMAT, farhash_map_open("/dev/shm", NULL, NULL, &map));
	IS(FARHASH_ERROR_FILE, farhash_map_open("/dev/none/x", NULL,
		&(farhash_open_options){.existing = 1}, &map));
	IS(FARHASH_ERROR_FORMAT, farhash_remove("/dev/shm"));
	IS(FARHASH_ERROR_FILE, farhash_remove("/dev/none/x"));
	REFUSED(farhash_remove(NULL));
	REFUSED(farhash_remove(""));
}

int main(void) {
	CLAIM(strcmp(farhash_last_error(), "") == 0);
	OK(farhash_join(NULL, &job));
	sets();
	jobs();
	byte_strings();
	caches();
	maps();
	indexes();
	by_name();
	OK(farhash_job_close(job));
	puts("all is well");
	return 0;
}
