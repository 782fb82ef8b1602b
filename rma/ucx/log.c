//go:build ucx

// Filters log messages of UCX that report no error.

#include <pthread.h>
#include <string.h>

#include <ucs/debug/log_def.h>

#include "shim.h"
#include "internal.h"

static int left; // 1: a rank of this process has left its job, or is about to
static pthread_once_t once = PTHREAD_ONCE_INIT;

// meaningless suppresses messages that are no errors once a rank has left: two ranks had begun to
// connect to each other at the same time, and one end has closed the connection that was not needed.
// UCX tries each again, or reports a lost rank in another way, which this does not suppress.
static ucs_log_func_rc_t meaningless(const char *file, unsigned line, const char *function,
	ucs_log_level_t level, const ucs_log_component_config_t *component, const char *message,
	va_list arguments) {
	(void)file, (void)line, (void)function, (void)component, (void)arguments;
	return level == UCS_LOG_LEVEL_ERROR && __atomic_load_n(&left, __ATOMIC_RELAXED) &&
		strstr(message, "connection establishment for socket fd") ?
		UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

static void begin(void) { ucs_log_push_handler(meaningless); }

// fu_filter_log is called when a rank leaves its job, with 0 when this process joins one.
void fu_filter_log(int yes) {
	pthread_once(&once, begin);
	__atomic_store_n(&left, yes, __ATOMIC_RELAXED);
}
