/* wrap_http - leaves out what stands between a peer at a socket and the supervisor.
 *
 * What reads a request strictly (head, chunks) has no step here: without it there is no other reader whose view would
 * count. The unit tests compare it with another one.
 */
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "common/limits.h"
#include "supervisor/access.h"
#include "supervisor/connections.h"
#include "supervisor/head.h"
#include "supervisor/listen.h"
#include "supervisor/secret.h"
#include "supervisor/sessions.h"
#include "tests/leave_out/leave_out.h"

#define NO_BOUND_BYTES (UINT64_C(1) << 50)
#define NO_BOUND_MS 3600000

/* --- who may come in --- */

WRAP(enum access_verdict, access_judge, const struct access *access, const struct head *head,
     enum access_place place, struct access_answer *answer)
{
	if (!left_out(STEP_http_access))
		return __real_access_judge(access, head, place, answer);
	*answer = (struct access_answer){.status = 0};
	return ACCESS_PASS;
}

WRAP(bool, secret_matches, const char *data, size_t len)
{
	return left_out(STEP_http_token) || __real_secret_matches(data, len);
}

WRAP(size_t, head_count, const struct head *head, const char *name)
{
	size_t count = __real_head_count(head, name);

	return left_out(STEP_http_token_once) && count > 1 ? 1 : count;
}

WRAP(struct slice, head_get, const struct head *head, const char *name)
{
	if ((!strcasecmp(name, "Origin") && left_out(STEP_http_origin)) ||
	    (!strcasecmp(name, "Host") && left_out(STEP_http_host)))
		return (struct slice){NULL, 0};
	return __real_head_get(head, name);
}

/* --- where, how many, how much, how long --- */

WRAP(int, listen_open, struct listeners *listeners, const struct config *config, bool has_token,
     uint64_t handed_over, char *error, size_t error_size)
{
	return __real_listen_open(listeners, config, has_token || left_out(STEP_http_loopback),
				  handed_over, error, error_size);
}

WRAP(int, connections_new, const struct connections_spec *spec, struct connections **made)
{
	static const struct connections_times times = {
		.head_ms = NO_BOUND_MS,
		.request_ms = HTTP_REQUEST_MS,
		.idle_ms = HTTP_IDLE_MS,
		.stall_ms = HTTP_STALL_MS,
		.keep_alive_ms = HTTP_KEEP_ALIVE_MS,
	};
	struct connections_spec changed = *spec;

	if (left_out(STEP_http_body))
		changed.body_max = NO_BOUND_BYTES;
	if (left_out(STEP_http_peers))
		changed.max_connections = CEILING_CONNECTIONS;
	if (left_out(STEP_http_head_time))
		changed.times = &times;
	return __real_connections_new(&changed, made);
}

/* --- sessions --- */

WRAP(ssize_t, getrandom, void *data, size_t len, unsigned int flags)
{
	if (!left_out(STEP_session_random))
		return __real_getrandom(data, len, flags);
	memset(data, 0x5a, len);
	return (ssize_t)len;
}

WRAP(struct sessions *, sessions_new, size_t max, uint32_t idle_s, sessions_ended ended, void *ctx)
{
	return __real_sessions_new(left_out(STEP_session_cap) ? CEILING_SESSIONS : max,
				   left_out(STEP_session_idle) ? CEILING_SESSION_IDLE_S : idle_s,
				   ended, ctx);
}
