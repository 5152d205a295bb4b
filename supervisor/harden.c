/* harden - dumpable, core files, the change of user, no new privileges. */
#include "supervisor/harden.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limits.h"

#define DEFAULT_USER "mcp-exec"

/* Whom to become; the names are copies, for the buffers behind getpwnam(3) are reused. */
struct identity {
	uid_t uid;
	gid_t gid;
	char name[256];
	char home[PATH_MAX];
};

int harden_early(void)
{
	struct rlimit core;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || getrlimit(RLIMIT_CORE, &core) < 0)
		return -errno;
	/* The hard limit stays: from 0 no run could get the 1 it needs, see policy/rlimits.c. */
	core.rlim_cur = 0;
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return -errno;
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	umask(022);
	return 0;
}

static int from_passwd(struct identity *who, const struct passwd *entry)
{
	who->uid = entry->pw_uid;
	who->gid = entry->pw_gid;
	snprintf(who->name, sizeof(who->name), "%s", entry->pw_name);
	if (strlen(entry->pw_dir) >= sizeof(who->home))
		return -ENAMETOOLONG;
	memcpy(who->home, entry->pw_dir, strlen(entry->pw_dir) + 1);
	return 0;
}

/* An id without an entry has no home: "/" is readable and not writable for it. */
static int from_number(struct identity *who, unsigned int number)
{
	const struct passwd *entry = getpwuid(number);

	if (entry != NULL)
		return from_passwd(who, entry);
	who->uid = number;
	who->gid = number;
	snprintf(who->name, sizeof(who->name), "%u", number);
	memcpy(who->home, "/", 2);
	return 0;
}

/* Digits only, and below (uid_t)-1, which setresuid(2) takes for "unchanged". */
static bool parse_id(const char *text, unsigned int *number)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9' || n > UINT32_MAX)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*number = (unsigned int)n;
	return n < UINT32_MAX;
}

static int find_identity(struct identity *who, const char *user)
{
	const struct passwd *entry = getpwnam(user != NULL ? user : DEFAULT_USER);
	unsigned int number;

	if (entry != NULL)
		return from_passwd(who, entry);
	if (user == NULL)
		return from_number(who, UNPRIVILEGED_ID);
	return parse_id(user, &number) ? from_number(who, number) : -ENOENT;
}

/* Groups first: once the uid is gone they cannot be changed any more. */
static int change_ids(const struct identity *who)
{
	if (setgroups(0, NULL) < 0 || setresgid(who->gid, who->gid, who->gid) < 0 ||
	    setresuid(who->uid, who->uid, who->uid) < 0)
		return -errno;
	return 0;
}

/* Tries what must fail. */
static int prove_gone(const struct identity *who)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (getresuid(&ruid, &euid, &suid) < 0 || getresgid(&rgid, &egid, &sgid) < 0)
		return -errno;
	if (ruid != who->uid || euid != who->uid || suid != who->uid || rgid != who->gid ||
	    egid != who->gid || sgid != who->gid || getgroups(0, NULL) != 0)
		return -EPERM;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) == 0 || setresgid((gid_t)-1, 0, (gid_t)-1) == 0)
		return -EPERM;
	return 0;
}

static int set_environment(const struct identity *who)
{
	if (setenv("HOME", who->home, 1) < 0 || setenv("USER", who->name, 1) < 0 ||
	    setenv("LOGNAME", who->name, 1) < 0)
		return -errno;
	return 0;
}

static int become(const struct identity *who, char *error, size_t size)
{
	int r;

	if (who->uid == 0 || who->gid == 0) {
		snprintf(error, size,
			 "MCP_EXEC_USER (--user) names root or its group; name an unprivileged "
			 "user.");
		return -EINVAL;
	}
	r = change_ids(who);
	if (r == 0)
		r = prove_gone(who);
	if (r == 0)
		r = set_environment(who);
	if (r < 0)
		snprintf(
			error, size,
			"Cannot become user %s (uid %u, gid %u): %s. Start mcp-exec as an ordinary "
			"user, or name one that exists here in MCP_EXEC_USER.",
			who->name, who->uid, who->gid, strerror(-r));
	return r;
}

int harden_user(const char *user, char *error, size_t error_size)
{
	struct identity who = {.uid = 0};
	int r;

	if (geteuid() != 0 && user == NULL)
		return 0;
	r = find_identity(&who, user);
	if (r < 0) {
		snprintf(error, error_size,
			 "MCP_EXEC_USER (--user) names no user of this machine; it must be a name "
			 "or a number.");
		return r;
	}
	if (geteuid() == 0)
		return become(&who, error, error_size);
	if (who.uid == geteuid())
		return 0;
	snprintf(error, error_size,
		 "MCP_EXEC_USER (--user) names another user than the one this was started as, and "
		 "only root can become another user.");
	return -EPERM;
}

int harden_late(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}
