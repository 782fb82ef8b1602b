// A little of everything, for valgrind. Usage: small DIRECTORY

#include "try.h"

int main(int argc, char **argv) {
	farhash_job *job;
	farhash_set *set;
	farhash_cache *cache;
	farhash_map *map;
	uint64_t key = 7, value = 8, len, words[100];
	uint8_t results[100];
	char path[4096];
	(void)argc;
	snprintf(path, sizeof path, "%s/set", argv[1]);
	OK(farhash_join(NULL, &job));
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 1000}, &set));
	OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = 8, .value_size = 8,
		.buckets = 1000}, &cache));
	for (int i = 0; i < 100; i++)
		words[i] = i;
	OK(farhash_set_find_or_put_batch(set, words, 100, results));
	IS(FARHASH_FOUND, farhash_set_find_or_put(set, 50));
	OK(farhash_set_len(set, &len));
	IS(100, len);
	OK(farhash_set_save(set, path));
	OK(farhash_set_load(set, path));
	IS(FARHASH_NEW, farhash_cache_put(cache, &key, &value));
	value = 0;
	IS(FARHASH_HIT, farhash_cache_get(cache, &key, &value));
	IS(8, value);
	OK(farhash_map_new(job, &(farhash_map_config){.slots = 64, .bytes = 1 << 14,
		.max_key = 8, .max_value = 8}, &map));
	OK(farhash_map_put(map, &key, 8, &value, 8, NULL));
	IS(FARHASH_HIT, farhash_map_get(map, &key, 8, &value, 8, NULL, NULL));
	for (int i = 0; i < 1100; i++) { // more than are remembered
		farhash_set *other;
		OK(farhash_set_new(job, &(farhash_set_config){.buckets = 8}, &other));
		OK(farhash_set_close(other));
	}
	OK(farhash_job_close(job));
	FAILS(FARHASH_ERROR_CLOSED, "closed", farhash_set_len(set, &len));
	puts("all is well");
	return 0;
}
