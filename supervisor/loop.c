/* loop - event bases and the signals that end a server. */
#include "supervisor/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct event_base *loop_new_for_files(void)
{
	struct event_config *wanted = event_config_new();
	struct event_base *base = NULL;

	if (wanted != NULL && event_config_require_features(wanted, EV_FEATURE_FDS) == 0)
		base = event_base_new_with_config(wanted);
	if (wanted != NULL)
		event_config_free(wanted);
	return base;
}

static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int loop_watch_signals(struct event_base *base, struct event *events[static LOOP_SIGNALS],
		       event_callback_fn callback, void *ctx)
{
	static const int numbers[] = {
		[LOOP_TERM] = SIGTERM, [LOOP_INT] = SIGINT, [LOOP_HUP] = SIGHUP};

	for (int i = 0; i < LOOP_SIGNALS; i++) {
		if (numbers[i] == SIGHUP && is_ignored(SIGHUP))
			continue;
		events[i] = evsignal_new(base, numbers[i], callback, ctx);
		if (events[i] == NULL || event_add(events[i], NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

void loop_unwatch_signals(struct event *events[static LOOP_SIGNALS])
{
	for (int i = 0; i < LOOP_SIGNALS; i++)
		if (events[i] != NULL)
			event_free(events[i]);
}
