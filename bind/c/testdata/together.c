// Collective calls that make no sense on one rank fail on all, and none waits.
// Usage: together DIRECTORY

#include "try.h"

// WRONG claims that a call is refused for its arguments on rank 1, and for rank 1 on the others.
#define WRONG(call) \
	do { \
		int code_ = call; \
		if (wrong) { \
			IS(FARHASH_ERROR_ARGUMENT, code_); \
		} else { \
			FAILS(FARHASH_ERROR_RANK, "rank 1", code_); \
		} \
	} while (0)

static int next(const void **key, const void **value, size_t *value_size, void *argument) {
	(void)key, (void)value, (void)value_size, (void)argument;
	return 0;
}

static void make(farhash_job *job, int wrong) {
	farhash_set *set, **at = wrong ? NULL : &set;
	farhash_set_config words = {.buckets = 64}, *none = wrong ? NULL : &words;
	WRONG(farhash_set_new(job, none, &set));
	WRONG(farhash_set_new(job, &words, at));
	words.depth = wrong ? 65537 : 0;
	WRONG(farhash_set_new(job, &words, &set));
	words = (farhash_set_config){.buckets = 64, .reserved = {wrong}};
	WRONG(farhash_set_new(job, &words, &set));
	farhash_bytes *elements;
	farhash_bytes_config strings = {.set.buckets = 64, .element_bytes = wrong ? 5000 : 8};
	WRONG(farhash_bytes_new(job, &strings, &elements));
	farhash_cache *cache;
	farhash_cache_config config = {.key_size = wrong ? UINT64_MAX : 8, .value_size = 8,
		.buckets = 8};
	WRONG(farhash_cache_new(job, &config, &cache));
	farhash_map *map;
	farhash_map_config pairs = {.slots = 16, .bytes = 1 << 13, .max_key = 8,
		.depth = wrong ? UINT32_MAX : 0};
	WRONG(farhash_map_new(job, &pairs, &map));
	farhash_index *index;
	uint64_t word = 0;
	farhash_index_config records = {.key_size = 8};
	WRONG(farhash_index_build(job, &records, wrong ? NULL : next, NULL, &index));
	WRONG(farhash_index_build_batch(job, &records, wrong ? NULL : &word, NULL, NULL, 1, &index));
	WRONG(farhash_index_load(job, wrong ? NULL : "/nowhere", NULL, &index));
	records.load = wrong ? 7 : 0;
	WRONG(farhash_index_load(job, "/nowhere", &records, &index));
}

static int rank_main(farhash_job *job, void *directory) {
	int wrong = farhash_job_rank(job) == 1;
	char path[4096];
	snprintf(path, sizeof path, "%s/table", (char *)directory);
	make(job, wrong);
	farhash_set *set;
	farhash_cache *cache;
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 64}, &set));
	OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = 8, .value_size = 8,
		.buckets = 8}, &cache));
	WRONG(farhash_set_save(set, wrong ? "" : path));
	WRONG(farhash_set_load(set, wrong ? NULL : path));
	WRONG(farhash_cache_save(cache, wrong ? "" : path));
	WRONG(farhash_cache_load(cache, wrong ? NULL : path));
	farhash_cache_stats stats;
	IS(wrong ? FARHASH_ERROR_ARGUMENT : FARHASH_OK,
		farhash_cache_all_stats(cache, NULL, wrong ? NULL : &stats));
	OK(farhash_set_save(set, path));
	OK(farhash_set_load(set, path));
	return 0;
}

int main(int argc, char **argv) {
	OK(farhash_run(3, NULL, rank_main, argc > 1 ? argv[1] : "."));
	puts("all is well");
	return 0;
}
