/* namespaces - see the header. */
#include "policy/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/layers.h"
#include "common/limits.h"

static const struct namespace_rule rules[] = {
	{CLONE_NEWUSER, LAYER_USER_NS, "user",
	 "its ids are its own; outside it is the server's unprivileged user"},
	{CLONE_NEWNET, LAYER_NET_NS, "net", "no interface but lo, no abstract socket of the host"},
	{CLONE_NEWPID, LAYER_PID_NS, "pid", "no process of the host can be seen or signalled"},
	{CLONE_NEWNS, LAYER_MOUNT_NS, "mnt", "its view of the file system is its own"},
	{CLONE_NEWIPC, LAYER_IPC_NS, "ipc", "no System V or POSIX queue is shared"},
	{CLONE_NEWUTS, LAYER_UTS_NS, "uts", "the host's name stays hidden"},
	{CLONE_NEWCGROUP, LAYER_CGROUP_NS, "cgroup", "the host's cgroup paths stay hidden"},
};

#define RULES (sizeof(rules) / sizeof(*rules))

_Static_assert(RULES == NAMESPACES, "the header says how many");

const struct namespace_rule *namespaces_rule(size_t i)
{
	return i < RULES ? &rules[i] : NULL;
}

uint32_t namespaces_layers(void)
{
	uint32_t layers = 0;

	for (size_t i = 0; i < RULES; i++)
		layers |= rules[i].layer;
	return layers;
}

int namespaces_enter_user(void)
{
	if (unshare(rules[0].flag))
		return -errno;
	/* The worker is not dumpable, so its /proc/self belongs to root: uid_map could not be opened (EACCES). */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ? -errno : 0;
}

int namespaces_enter_rest(void)
{
	int flags = 0;

	for (size_t i = 1; i < RULES; i++)
		flags |= rules[i].flag;
	return unshare(flags) ? -errno : 0;
}

int namespaces_open(int fds[NAMESPACES])
{
	char path[64];

	for (size_t i = 0; i < RULES; i++)
		fds[i] = -1;
	for (size_t i = 0; i < RULES; i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", rules[i].name);
		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (fds[i] < 0) {
			int error = errno;

			while (i--)
				cleanup_fd(&fds[i]);
			return -error;
		}
	}
	return 0;
}

static int join(const int fds[NAMESPACES], int flags)
{
	for (size_t i = 0; i < RULES; i++)
		if ((rules[i].flag & flags) && setns(fds[i], rules[i].flag))
			return -errno;
	return 0;
}

int namespaces_join(const int fds[NAMESPACES])
{
	return join(fds, ~0);
}

int namespaces_join_above(const int fds[NAMESPACES])
{
	return join(fds, CLONE_NEWUSER | CLONE_NEWPID);
}

int namespaces_map_ids(uid_t outer_uid, gid_t outer_gid)
{
	char uid_map[64], gid_map[64];
	int r;

	snprintf(uid_map, sizeof(uid_map), "%d %u 1\n", SANDBOX_UID, outer_uid);
	snprintf(gid_map, sizeof(gid_map), "%d %u 1\n", SANDBOX_GID, outer_gid);
	if ((r = fds_write_file("/proc/self/setgroups", "deny")) < 0)
		return r;
	if ((r = fds_write_file("/proc/self/uid_map", uid_map)) < 0)
		return r;
	return fds_write_file("/proc/self/gid_map", gid_map);
}

int namespaces_name_host(void)
{
	return sethostname(SANDBOX_HOSTNAME, strlen(SANDBOX_HOSTNAME)) ? -errno : 0;
}
