/* fit - see the header. getrlimit(2). */
#include "supervisor/fit.h"

#include <stdbool.h>
#include <sys/resource.h>

#include "common/limits.h"
#include "common/log.h"
#include "supervisor/listen.h"

/* Descriptors for everything but the calls that wait: standard ones, link, loop, the run that ends and the next. */
#define RESERVED_FILES 32

/* Each call that waits holds two descriptors. A queue that the limit cannot bear would be accepted and then fail, its
 * running call included: so it is made shorter, and what is beyond it is answered "busy". */
static void fit_queue(struct config *config, rlim_t files, rlim_t limit)
{
	rlim_t fits = files / 2;

	if (fits >= config->max_queue)
		return;
	config->max_queue = fits > 0 ? (uint32_t)fits : 1;
	log_event(LOG_WARN, "config.queue_lowered", LOG_U64("max_queue", config->max_queue),
		  LOG_U64("open_files", limit));
}

/* One descriptor each; a session without a connection holds none. */
static void fit_connections(struct config *config, rlim_t files, rlim_t limit)
{
	if (files >= config->max_connections)
		return;
	config->max_connections = files > 0 ? (uint32_t)files : 1;
	log_event(LOG_WARN, "config.connections_lowered",
		  LOG_U64("max_connections", config->max_connections),
		  LOG_U64("open_files", limit));
}

/* Neither queue nor connections take more than half, unless the other leaves it. */
void fit_config(struct config *config)
{
	bool is_stdio = config->transport == TRANSPORT_STDIO;
	rlim_t reserved = RESERVED_FILES + (is_stdio ? 0 : MAX_LISTENERS);
	rlim_t connections = is_stdio ? 0 : config->max_connections;
	struct rlimit limit;
	rlim_t files;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return;
	files = limit.rlim_cur > reserved ? limit.rlim_cur - reserved : 0;
	if (connections > files / 2)
		connections = files / 2;
	fit_queue(config, files - connections, limit.rlim_cur);
	if (!is_stdio)
		fit_connections(config,
				files > 2 * (rlim_t)config->max_queue
					? files - 2 * (rlim_t)config->max_queue
					: 0,
				limit.rlim_cur);
}
