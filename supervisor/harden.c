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
#include "common/printable.h"
#include "common/signals.h"

#define DEFAULT_USER "mcp-exec"
/* With fewer we cannot even say what is missing. */
#define MIN_FILES 12
#define MIN_STACK_BYTES (128 * KIB)

/* Whom to become; the names are copies, for the buffers behind getpwnam(3) are reused. */
struct identity {
	uid_t uid;
	gid_t gid;
	char name[256];
	char home[PATH_MAX];
};

/* What our parent ignored or blocked came through exec: a blocked SIGTERM would never end us, and with SIGCHLD ignored
 * nobody is there to be waited for. SIGHUP is the exception, for nohup(1) means it. A write beyond RLIMIT_FSIZE is to
 * fail and not to kill. */
static int set_signals(void)
{
	struct sigaction hangup;

	if (sigaction(SIGHUP, NULL, &hangup) < 0)
		return -errno;
	signals_reset();
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return -errno;
	if (hangup.sa_handler == SIG_IGN && signal(SIGHUP, SIG_IGN) == SIG_ERR)
		return -errno;
	return 0;
}

/* A convenience: where it fails, what it was for fails later and says so. */
static void raise_soft_limit(__rlimit_resource_t resource, rlim_t enough)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0 || limit.rlim_cur >= enough)
		return;
	limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
	(void)setrlimit(resource, &limit);
}

/* Soft limits are meant for programs that do not expect more, and whoever started us had others in mind: each call that
 * waits holds two descriptors, programs and their output are files in memory, and a run's limits are its own. */
static int set_limits(void)
{
	static const __rlimit_resource_t raised[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_NPROC,
						     RLIMIT_DATA,   RLIMIT_AS,	  RLIMIT_CPU};
	struct rlimit core;

	if (getrlimit(RLIMIT_CORE, &core) < 0)
		return -errno;
	/* The hard limit stays: from 0 no run could get the 1 it needs, see policy/rlimits.c. */
	core.rlim_cur = 0;
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		raise_soft_limit(raised[i], RLIM_INFINITY);
	/* Not without an end: the kernel lays out programs in another way then. */
	raise_soft_limit(RLIMIT_STACK, STACK_HARD_BYTES);
	return 0;
}

int harden_limits(char *error, size_t error_size)
{
	struct rlimit files, stack;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < MIN_FILES) {
		snprintf(error, error_size,
			 "No more than %ju files may be open; raise that limit (ulimit -n).",
			 (uintmax_t)files.rlim_cur);
		return -EMFILE;
	}
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < MIN_STACK_BYTES) {
		snprintf(error, error_size,
			 "The stack may have no more than %ju bytes; raise that limit (ulimit -s).",
			 (uintmax_t)stack.rlim_cur);
		return -ENOMEM;
	}
	return 0;
}

int harden_early(void)
{
	int r;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	r = set_limits();
	if (r == 0)
		r = set_signals();
	umask(022);
	return r;
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

/* What errno says after a look-up that found nothing: 0 when there is no such user, for which getpwnam(3) names several
 * values, or a negative errno when nobody could look. */
static int lookup_error(void)
{
	switch (errno) {
	case ENOENT:
	case ESRCH:
	case EBADF:
	case EPERM:
		return 0;
	default:
		return -errno;
	}
}

/* An id without an entry has no home: "/" is readable and not writable for it. */
static int from_number(struct identity *who, unsigned int number)
{
	const struct passwd *entry;
	int r;

	errno = 0;
	entry = getpwuid(number);
	if (entry != NULL)
		return from_passwd(who, entry);
	r = lookup_error();
	if (r < 0)
		return r;
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
	const struct passwd *entry;
	unsigned int number;
	int r;

	errno = 0;
	entry = getpwnam(user != NULL ? user : DEFAULT_USER);
	if (entry != NULL)
		return from_passwd(who, entry);
	r = lookup_error();
	if (r < 0)
		return r;
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

static void say_unknown(const char *user, int r, char *error, size_t size)
{
	/* A setting is the operator's own, and still no terminal has to obey it. */
	char shown[64];

	if (user == NULL)
		user = DEFAULT_USER;
	printable_copy(shown, sizeof(shown), user, strlen(user));
	if (r == -ENOENT)
		snprintf(error, size,
			 "MCP_EXEC_USER (--user) is \"%s\", and there is no such user on this "
			 "machine; it must be a name or a number.",
			 shown);
	else
		snprintf(error, size,
			 "The user \"%s\" of MCP_EXEC_USER (--user) cannot be looked "
			 "up: %s.",
			 shown, strerror(-r));
}

/* A real or saved uid of 0 is root, and one call away. */
static int refuse_hidden_root(char *error, size_t size)
{
	uid_t ruid, euid, suid;

	if (getresuid(&ruid, &euid, &suid) == 0 && (euid == 0 || (ruid != 0 && suid != 0)))
		return 0;
	snprintf(error, size,
		 "This was started as uid %u, but its real or saved uid is 0, so it could become "
		 "root again; start it as root or as an ordinary user.",
		 geteuid());
	return -EPERM;
}

int harden_user(const char *user, char *error, size_t error_size)
{
	struct identity who = {.uid = 0};
	int r = refuse_hidden_root(error, error_size);

	if (r < 0)
		return r;
	if (geteuid() != 0 && user == NULL)
		return 0;
	r = find_identity(&who, user);
	if (r < 0) {
		say_unknown(user, r, error, error_size);
		return r;
	}
	if (geteuid() == 0)
		return become(&who, error, error_size);
	if (who.uid == geteuid())
		return 0;
	snprintf(error, error_size,
		 "MCP_EXEC_USER (--user) names uid %u, this was started as uid %u, and only root "
		 "can become another user.",
		 who.uid, geteuid());
	return -EPERM;
}

int harden_identity(const char *user, uid_t *uid, gid_t *gid, char *error, size_t error_size)
{
	struct identity who = {.uid = geteuid(), .gid = getegid()};
	int r = geteuid() == 0 ? find_identity(&who, user) : 0;

	if (r < 0)
		say_unknown(user, r, error, error_size);
	*uid = who.uid;
	*gid = who.gid;
	return r;
}

int harden_late(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}
