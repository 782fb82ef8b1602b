// Signal handlers of the program keep off the stacks of Go; main.go says why. The library of
// MPI-DHT's interface has this too: it is the one that its programs depend on.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#include "library.h"

static int (*real_action)(int, const struct sigaction *, struct sigaction *);
static sighandler_t (*real_signal)(int, sighandler_t);

// real is the function that comes next, or the C library's if it comes before this one.
static void *real(const char *name) {
	void *next = dlsym(RTLD_NEXT, name);
	return next ? next : dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name);
}

__attribute__((constructor)) static void find_real(void) {
	*(void **)&real_action = real("sigaction");
	*(void **)&real_signal = real("signal");
}

static int is_function(const struct sigaction *act) {
	return act->sa_flags & SA_SIGINFO ||
		(act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN);
}

// keep_stack has the handler of a signal run on the stack that the thread has for signals.
static void keep_stack(int sig) {
	struct sigaction act;
	if (!real_action || real_action(sig, NULL, &act) != 0 || !is_function(&act) ||
		act.sa_flags & SA_ONSTACK)
		return;
	act.sa_flags |= SA_ONSTACK;
	real_action(sig, &act, NULL);
}

// sigaction is the C library's, with SA_ONSTACK.
int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict old) {
	if (!real_action)
		find_real();
	if (!act || !is_function(act))
		return real_action(sig, act, old);
	struct sigaction better = *act;
	better.sa_flags |= SA_ONSTACK;
	return real_action(sig, &better, old);
}

// signal is the C library's, with SA_ONSTACK.
sighandler_t signal(int sig, sighandler_t handler) {
	if (!real_signal)
		find_real();
	sighandler_t before = real_signal(sig, handler);
	keep_stack(sig);
	return before;
}

// fh_keep_stacks is for programs in which the C library comes before this one: where something
// else depends on it, or has loaded it, as an interpreter does.
void fh_keep_stacks(void) {
	for (int sig = 1; sig < NSIG; sig++)
		keep_stack(sig);
}
