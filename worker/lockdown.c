/* lockdown - see the header. */
#include "worker/lockdown.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "common/layers.h"
#include "common/stage.h"
#include "policy/filter.h"
#include "policy/landlock.h"
#include "policy/privilege.h"
#include "policy/rlimits.h"
#include "worker/report.h"

/* Grants that many of our own CPUs, counted from a random one, so that replicas do not all meet on the first. */
static int grant_cpus(uint32_t wanted)
{
	cpu_set_t all, granted;
	unsigned int skip;

	if (sched_getaffinity(0, sizeof(all), &all) ||
	    getrandom(&skip, sizeof(skip), 0) != sizeof(skip))
		return -errno;
	skip %= (unsigned int)CPU_COUNT(&all);
	CPU_ZERO(&granted);
	/* Twice around: those that were skipped come again at the end. */
	for (unsigned int i = 0; i < 2 * CPU_SETSIZE && wanted; i++) {
		unsigned int cpu = i % CPU_SETSIZE;

		if (!CPU_ISSET(cpu, &all) || CPU_ISSET(cpu, &granted))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		CPU_SET(cpu, &granted);
		wanted--;
	}
	return sched_setaffinity(0, sizeof(granted), &granted) ? -errno : 0;
}

/* A copy takes those of its sandbox's init: so the end of the program wakes nobody on another CPU. */
static int take_cpus_of_init(void)
{
	cpu_set_t granted;

	if (sched_getaffinity(1, sizeof(granted), &granted))
		return -errno;
	return sched_setaffinity(0, sizeof(granted), &granted) ? -errno : 0;
}

/* Refused calls are noted where that can be had, and always refused. Sets the noting filter's listener, or -1. */
static int apply_filter(const struct inside *inside, int *listener)
{
	*listener = inside->noting.filter ? filter_listen(&inside->noting) : -1;
	return *listener < 0 ? filter_apply(&inside->filter) : 0;
}

uint32_t lockdown_layers(void)
{
	return LAYER_LANDLOCK | LAYER_AFFINITY | LAYER_RLIMITS | LAYER_CAPABILITIES |
	       LAYER_NO_NEW_PRIVS | LAYER_SECCOMP;
}

int lockdown_apply(const struct inside *inside, bool copy, int sock, uint32_t *layers)
{
	int landlock, listener;

	report_step(sock, STAGE_LANDLOCK, landlock = landlock_apply(&inside->view));
	*layers |= landlock ? LAYER_LANDLOCK : 0;
	report_step(sock, STAGE_AFFINITY,
		    copy ? take_cpus_of_init() : grant_cpus(inside->limits.cpus));
	*layers |= LAYER_AFFINITY;
	report_step(sock, STAGE_LIMITS, rlimits_apply(&inside->limits));
	*layers |= LAYER_RLIMITS;
	report_step(sock, STAGE_CAPABILITIES, privilege_drop_capabilities());
	*layers |= LAYER_CAPABILITIES;
	report_step(sock, STAGE_NO_NEW_PRIVS, privilege_no_new_privs());
	*layers |= LAYER_NO_NEW_PRIVS;
	report_step(sock, STAGE_INIT, copy ? privilege_dumpable() : privilege_undumpable());
	report_step(sock, STAGE_SECCOMP, apply_filter(inside, &listener));
	*layers |= LAYER_SECCOMP;
	return listener;
}

void lockdown_apply_pristine(const struct inside *inside, int sock)
{
	report_step(sock, STAGE_LIMITS, rlimits_apply(&inside->limits));
	report_step(sock, STAGE_CAPABILITIES, privilege_drop_capabilities());
	report_step(sock, STAGE_NO_NEW_PRIVS, privilege_no_new_privs());
	report_step(sock, STAGE_INIT, privilege_undumpable());
	report_step(sock, STAGE_SECCOMP, filter_apply(&inside->pristine));
}
