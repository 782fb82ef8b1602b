// Tables by name: what two openings share, what is refused, and forks. Usage: named DIRECTORY

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "try.h"

static char path[4096];

// at sets the path of a file.
static void at(const char *directory, const char *name) {
	snprintf(path, sizeof path, "%s/%s", directory, name);
}

static void maps(void) {
	farhash_map *first, *second;
	farhash_map_config config = {.max_key = 16, .max_bytes = 64 << 20};
	farhash_open_options options = {.mode = 0640};
	struct stat st;
	char value[8];
	size_t size;
	OK(farhash_map_open(path, &config, &options, &first));
	CLAIM(stat(path, &st) == 0);
	IS(0640, st.st_mode & 0777);
	OK(farhash_map_open(path, NULL, NULL, &second));
	OK(farhash_map_put(first, "key", 3, "value", 5, NULL));
	IS(FARHASH_HIT, farhash_map_get(second, "key", 3, value, sizeof value, &size, NULL));
	IS(5, size);
	OK(farhash_map_close(first));
	OK(farhash_map_check(second));
	OK(farhash_map_close(second));
	config.max_key = 17;
	FAILS(FARHASH_ERROR_ARGUMENT, "longest key differ",
		farhash_map_open(path, &config, NULL, &first));
	farhash_set *set;
	FAILS(FARHASH_ERROR_FORMAT, "another kind", farhash_set_open(path, NULL, NULL, &set));
	CLAIM(!first && !set);
	OK(farhash_remove(path));
	IS(FARHASH_ERROR_FILE, farhash_remove(path));
	options.existing = 1;
	FAILS(FARHASH_ERROR_FILE, path, farhash_map_open(path, NULL, &options, &first));
}

static void sets(void) {
	farhash_set *set;
	uint64_t n;
	for (int i = 0; i < 2; i++) {
		OK(farhash_set_open(path, NULL, NULL, &set));
		IS(i ? FARHASH_FOUND : FARHASH_INSERTED, farhash_set_find_or_put(set, 7));
		OK(farhash_set_close(set));
	}
	OK(farhash_remove(path));
	farhash_bytes *bytes;
	farhash_bytes_config config = {.element_bytes = 12, .set.max_bytes = 64 << 20};
	for (int i = 0; i < 2; i++) {
		OK(farhash_bytes_open(path, i ? NULL : &config, NULL, &bytes));
		OK(farhash_bytes_element_bytes(bytes, &n));
		IS(12, n);
		IS(i ? FARHASH_FOUND : FARHASH_INSERTED,
			farhash_bytes_find_or_put(bytes, "twelve bytes", 12));
		FAILS(FARHASH_ERROR_ARGUMENT, "give 12", farhash_bytes_find_or_put(bytes, "text", 4));
		OK(farhash_bytes_check(bytes));
		OK(farhash_bytes_close(bytes));
	}
	config.element_bytes = 13;
	FAILS(FARHASH_ERROR_ARGUMENT, "bytes per element differ",
		farhash_bytes_open(path, &config, NULL, &bytes));
	OK(farhash_remove(path));
	for (int i = 0; i < 2; i++) {
		OK(farhash_bytes_open(path, NULL, NULL, &bytes));
		OK(farhash_bytes_element_bytes(bytes, &n));
		IS(0, n);
		IS(i ? FARHASH_FOUND : FARHASH_INSERTED, farhash_bytes_find_or_put(bytes, "text", 4));
		OK(farhash_bytes_check(bytes));
		OK(farhash_bytes_close(bytes));
	}
	FAILS(FARHASH_ERROR_ARGUMENT, "bytes per element differ",
		farhash_bytes_open(path, &config, NULL, &bytes));
	OK(farhash_remove(path));
}

static void caches(void) {
	farhash_cache *cache;
	farhash_cache_config config = {.key_size = 8, .value_size = 16, .buckets = 1000};
	farhash_cache_stats stats;
	uint64_t key = 3, value[2] = {4, 5}, size, more;
	for (int i = 0; i < 2; i++) {
		OK(farhash_cache_open(path, i ? NULL : &config, NULL, &cache));
		OK(farhash_cache_sizes(cache, &size, &more));
		CLAIM(size == 8 && more == 16);
		IS(i ? FARHASH_UPDATED : FARHASH_NEW, farhash_cache_put(cache, &key, value));
		IS(FARHASH_HIT, farhash_cache_get(cache, &key, value));
		OK(farhash_cache_stats_get(cache, &stats));
		IS(1, stats.hits);
		OK(farhash_cache_all_stats(cache, NULL, &stats));
		OK(farhash_cache_close(cache));
	}
	OK(farhash_remove(path));
}

// locked reports whether any process has the table open.
static int locked(void) {
	struct flock lock = {.l_type = F_WRLCK};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	CLAIM(fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0);
	close(fd);
	return lock.l_type != F_UNLCK;
}

// opened opens a map, forks, and waits. The fork cannot use the map, says so, and ends when in
// does.
static void opened(int out, int in) {
	farhash_map *map, *again;
	char byte;
	OK(farhash_map_open(path, NULL, NULL, &map));
	OK(farhash_map_put(map, "key", 3, "value", 5, NULL));
	if (fork() == 0) {
		IS(FARHASH_ERROR_FORKED, farhash_map_put(map, "key", 3, "other", 5, NULL));
		IS(FARHASH_ERROR_FORKED, farhash_map_close(map));
		FAILS(FARHASH_ERROR_FORKED, "exec", farhash_map_open(path, NULL, NULL, &again));
		CLAIM(write(out, "f", 1) == 1);
		CLAIM(read(in, &byte, 1) == 0);
		_exit(0);
	}
	pause();
}

// A process is killed whose fork lives: others get its place.
static void forks(void) {
	int out[2], in[2], status;
	char byte;
	CLAIM(pipe2(out, O_CLOEXEC) == 0 && pipe2(in, O_CLOEXEC) == 0);
	char *command[] = {"/proc/self/exe", path, NULL, NULL, NULL};
	char numbers[2][16];
	snprintf(numbers[0], sizeof *numbers, "%d", out[1]);
	snprintf(numbers[1], sizeof *numbers, "%d", in[0]);
	command[2] = numbers[0], command[3] = numbers[1];
	pid_t child = fork();
	if (child == 0) {
		fcntl(out[1], F_SETFD, 0);
		fcntl(in[0], F_SETFD, 0);
		execv(command[0], command);
		_exit(1);
	}
	close(out[1]);
	CLAIM(read(out[0], &byte, 1) == 1);
	CLAIM(locked());
	CLAIM(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
	CLAIM(!locked());
	farhash_map *map;
	char value[8];
	OK(farhash_map_open(path, NULL, NULL, &map));
	IS(FARHASH_HIT, farhash_map_get(map, "key", 3, value, sizeof value, NULL, NULL));
	CLAIM(memcmp(value, "value", 5) == 0);
	OK(farhash_map_check(map));
	OK(farhash_map_close(map));
	close(in[1]);
	CLAIM(read(out[0], &byte, 1) == 0); // the fork has ended
	OK(farhash_remove(path));
}

int main(int argc, char **argv) {
	if (argc == 4) {
		snprintf(path, sizeof path, "%s", argv[1]);
		opened(atoi(argv[2]), atoi(argv[3]));
	}
	at(argv[1], "map");
	maps();
	at(argv[1], "set");
	sets();
	at(argv[1], "cache");
	caches();
	at(argv[1], "forks");
	forks();
	puts("all is well");
	return 0;
}
