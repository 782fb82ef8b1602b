// A program that does what programs do: forks, calls system, handles signals, makes and frees
// hundreds of tables. Usage: host DIRECTORY

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tables.h"

static atomic_int caught;

// A handler that needs more stack than Go has to spare.
static void handler(int sig) {
	volatile char room[16384];
	memset((char *)room, sig, sizeof room);
	if (room[sizeof room / 2] == sig)
		caught++;
}

static void action(int sig, siginfo_t *info, void *context) {
	(void)info, (void)context;
	handler(sig);
}

static farhash_job *job;
static farhash_set *set;
static farhash_cache *cache;

enum { N = 20000 };
static uint64_t words[N], values[N];
static uint8_t results[N];

static void work(int round) {
	for (int i = 0; i < N; i++)
		words[i] = mix(i + N * (round % 8)) >> 1;
	CLAIM(farhash_set_find_or_put_batch(set, words, N, results) == FARHASH_OK);
	CLAIM(farhash_cache_put_batch(cache, words, N, words, results) == FARHASH_OK);
	CLAIM(farhash_cache_get_batch(cache, words, N, values, results) == FARHASH_OK);
	for (int i = 0; i < N; i++) {
		CLAIM(!results[i] || values[i] == words[i]);
		CLAIM(farhash_set_contains(set, words[i]) == FARHASH_FOUND);
	}
}

static atomic_int ends;

// bombard sends signals to the process until it is stopped.
static void *bombard(void *sig) {
	for (int i = 0; !ends; i++) {
		kill(getpid(), *(int *)sig);
		usleep(100);
	}
	return NULL;
}

// bombarded works while signals come.
static void bombarded(int sig) {
	pthread_t thread;
	ends = 0;
	int before = caught;
	CLAIM(pthread_create(&thread, NULL, bombard, &sig) == 0);
	for (int round = 0; round < 20 || caught < before + 200; round++)
		work(round);
	ends = 1;
	CLAIM(pthread_join(thread, NULL) == 0);
}

static void signals(void) {
	struct sigaction act = {.sa_sigaction = action, .sa_flags = SA_SIGINFO | SA_RESTART}, now;
	CLAIM(sigaction(SIGINT, &act, NULL) == 0);
	CLAIM(sigaction(SIGINT, NULL, &now) == 0 && now.sa_sigaction == action);
	bombarded(SIGINT);
	CLAIM(signal(SIGTERM, handler) == SIG_DFL);
	CLAIM(signal(SIGTERM, handler) == handler);
	bombarded(SIGTERM);
	CLAIM(signal(SIGINT, SIG_IGN) != SIG_ERR && signal(SIGTERM, SIG_DFL) == handler);
	raise(SIGINT);
}

static void children(void) {
	int status;
	IS(3, WEXITSTATUS(system("exit 3")));
	pid_t child = fork();
	if (child == 0) {
		int code = farhash_set_contains(set, 1);
		farhash_job *other;
		int joined = farhash_join(NULL, &other);
		_exit(code == FARHASH_ERROR_FORKED && joined == FARHASH_ERROR_FORKED &&
				strstr(farhash_last_error(), "fork") ? 5 : 6);
	}
	CLAIM(child > 0 && waitpid(child, &status, 0) == child);
	IS(5, WEXITSTATUS(status));
	child = fork(); // one that ends in the usual way
	if (child == 0)
		exit(4);
	CLAIM(child > 0 && waitpid(child, &status, 0) == child);
	CLAIM(WIFEXITED(status));
	IS(4, WEXITSTATUS(status));
	child = fork();
	if (child == 0) {
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	CLAIM(child > 0 && waitpid(child, &status, 0) == child);
	IS(0, WEXITSTATUS(status));
	work(1);
}

static void hundreds(void) {
	for (int i = 0; i < 300; i++) {
		farhash_cache *c;
		farhash_set *s;
		OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = 80, .value_size = 104,
			.buckets = 1000}, &c));
		OK(farhash_set_new(job, &(farhash_set_config){.buckets = 1000}, &s));
		IS(FARHASH_INSERTED, farhash_set_find_or_put(s, i));
		if (i % 3)
			OK(farhash_set_close(s));
		if (i % 5)
			OK(farhash_cache_close(c));
	}
}

// A signal without a handler ends the program as ever.
static void default_action(void) {
	int status;
	pid_t child = fork();
	if (child == 0) {
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
		_exit(1);
	}
	CLAIM(child > 0 && waitpid(child, &status, 0) == child);
	CLAIM(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

int main(int argc, char **argv) {
	(void)argc, (void)argv;
	CLAIM(signal(SIGUSR1, handler) == SIG_DFL); // before the library is used
	OK(farhash_join(NULL, &job));
	OK(farhash_set_new(job, &(farhash_set_config){.buckets = 1 << 20}, &set));
	OK(farhash_cache_new(job, &(farhash_cache_config){.key_size = 8, .value_size = 8,
		.buckets = 1 << 18}, &cache));
	bombarded(SIGUSR1);
	signals();
	children();
	hundreds();
	default_action();
	OK(farhash_set_check(set));
	OK(farhash_cache_check(cache));
	OK(farhash_job_close(job));
	puts("all is well");
	return 0;
}
