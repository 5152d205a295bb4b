/* landlock - see the header. The C library has no functions for it, and its headers may be older than the kernel. */
#include "policy/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

/* include/uapi/linux/landlock.h; rights that came after ABI 1. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13) /* ABI 2, Linux 5.19 */
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* ABI 3, Linux 6.2 */
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15) /* ABI 5, Linux 6.10 */
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6, Linux 6.12 */
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

/* struct landlock_ruleset_attr as of ABI 6; an older kernel takes it as long as what it does not know is 0. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;	     /* ABI 6 */
};

/* The first ABI that knows REFER. */
#define OLDEST_ABI 2

#define READ_FILES LANDLOCK_ACCESS_FS_READ_FILE
#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Everything but to execute, to make a device and to command one. */
#define WORK                                                                                       \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                    \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |                            \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                              \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER |   \
	 LANDLOCK_ACCESS_FS_TRUNCATE)
/* What a rule on something other than a directory may name. */
#define OF_A_FILE                                                                                  \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |                              \
	 LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                              \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)

enum place { ROOT, SYSTEM, MADE_UP, DEVICES, PROC, WORKSPACE, PLACES };

static const struct landlock_rule rules[PLACES] = {
	[ROOT] = {"/", LANDLOCK_ACCESS_FS_READ_DIR, "names are no secret"},
	[SYSTEM] = {"what the view shows of the system, the interpreter",
		    READ | LANDLOCK_ACCESS_FS_EXECUTE, "programs, libraries, Python"},
	[MADE_UP] = {"the made-up files", READ_FILES, "as their mode says"},
	/* What an ioctl of these is refused by is the seccomp filter; ENOTTY says that they are no terminal. */
	[DEVICES] = {"the devices",
		     READ_FILES | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV,
		     "harmless"},
	[PROC] = {"/proc", READ, "nothing of it is to be written, its own oom_score_adj neither"},
	[WORKSPACE] = {"the workspace", WORK, "all but programs and devices"},
};

/* In the order of their bits. */
static const char *const right_names[] = {
	"execute",	"write_file", "read_file", "read_dir",	   "remove_dir", "remove_file",
	"make_char",	"make_dir",   "make_reg",  "make_sock",	   "make_fifo",	 "make_block",
	"make_symlink", "refer",      "truncate",  "ioctl_device",
};

#define RIGHTS (sizeof(right_names) / sizeof(*right_names))

const struct landlock_rule *landlock_rule(size_t i)
{
	return i < PLACES ? &rules[i] : NULL;
}

const char *landlock_right_name(unsigned int bit)
{
	return bit < RIGHTS ? right_names[bit] : NULL;
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	/* Asking changes nothing, so whatever refuses to answer only means that there is none for us. */
	return abi < OLDEST_ABI ? 0 : (int)abi;
}

/* The rights that this ABI can withhold. */
static uint64_t handled_rights(int abi)
{
	uint64_t rights = (1ULL << RIGHTS) - 1;

	if (abi < 3)
		rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi < 5)
		rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return rights;
}

static uint64_t scopes(int abi)
{
	return abi < 6 ? 0 : LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
}

/* A ruleset that is being filled. */
struct filling {
	int fd;
	uint64_t handled;
};

/* What the view does not have gets no rule, and neither does a symbolic link: what counts is where it leads. */
static int allow(const struct filling *filling, enum place place, const char *path)
{
	_cleanup_fd_ int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct landlock_path_beneath_attr beneath = {
		.parent_fd = at, .allowed_access = rules[place].rights & filling->handled};
	struct stat status;

	if (at < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	if (fstat(at, &status))
		return -errno;
	if (S_ISLNK(status.st_mode))
		return 0;
	if (!S_ISDIR(status.st_mode))
		beneath.allowed_access &= OF_A_FILE;
	return syscall(SYS_landlock_add_rule, filling->fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0)
		       ? -errno
		       : 0;
}

static int allow_view(const struct filling *filling)
{
	static const enum place places[] = {
		[VIEW_SYSTEM] = SYSTEM,
		[VIEW_FILE] = MADE_UP,
		[VIEW_DEVICE] = DEVICES,
	};
	const struct view_rule *rule;

	for (size_t i = 0; (rule = view_rule(i)); i++) {
		int r = rule->kind == VIEW_LINK || rule->kind == VIEW_MASK
				? 0
				: allow(filling, places[rule->kind], rule->path);

		if (r < 0)
			return r;
	}
	return 0;
}

static int allow_rest(const struct filling *filling, const struct view_plan *plan)
{
	const char *dir;
	int r;

	for (size_t i = 0; i < plan->n; i++)
		if ((r = allow(filling, SYSTEM, plan->paths[i].target)) < 0)
			return r;
	for (size_t i = 0; (dir = view_workspace_dir(i)); i++)
		if ((r = allow(filling, WORKSPACE, dir)) < 0)
			return r;
	r = allow(filling, PROC, "/proc");
	return r < 0 ? r : allow(filling, ROOT, "/");
}

int landlock_apply(const struct view_plan *plan)
{
	int abi = landlock_abi();
	struct ruleset ruleset = {.handled_access_fs = handled_rights(abi), .scoped = scopes(abi)};
	int r;

	if (!abi)
		return 0;
	_cleanup_fd_ int fd =
		(int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	const struct filling filling = {.fd = fd, .handled = ruleset.handled_access_fs};

	if (fd < 0)
		return -errno;
	if ((r = allow_view(&filling)) < 0 || (r = allow_rest(&filling, plan)) < 0)
		return r;
	return syscall(SYS_landlock_restrict_self, fd, 0) ? -errno : 1;
}
