/* remedy - a table of causes: the first row whose stage, errno and facts fit has the cure. */
#include "common/remedy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/utf8.h"

#define FILE_BYTES 8192
#define ROW_ERRORS 3
/* A longer path would push the cure out of the sentence. */
#define PYTHON_BYTES 200

#define AT(symbol) (UINT64_C(1) << STAGE_##symbol)
#define ANYWHERE UINT64_MAX
#define MOUNTS                                                                                     \
	(AT(ROOT) | AT(PIVOT) | AT(SYSTEM) | AT(DEVICES) | AT(WORKSPACE) | AT(PROC) |              \
	 AT(OLD_ROOT) | AT(READ_ONLY))

_Static_assert(STAGE_COUNT <= 64, "a set of stages is a uint64_t");

/* --- Facts --- */

/* Reads the start of a small file as text. Returns its length, 0 when it cannot be read. */
static size_t read_text(const char *path, char text[FILE_BYTES])
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, FILE_BYTES - 1) : 0;
	size_t len = n > 0 ? (size_t)n : 0;

	text[len] = '\0';
	return len;
}

static long read_number(const char *path)
{
	char text[FILE_BYTES];

	return read_text(path, text) > 0 ? strtol(text, NULL, 10) : -1;
}

/* Since Linux 5.9; proc_pid_status(5). */
static int count_filters(void)
{
	static const char key[] = "\nSeccomp_filters:";
	char text[FILE_BYTES];
	const char *found;

	read_text("/proc/self/status", text);
	found = strstr(text, key);
	return found ? (int)strtol(found + strlen(key), NULL, 10) : -1;
}

/* Whether pid 1 was given container=…, which podman, systemd-nspawn and LXC do. */
static bool init_says_container(void)
{
	char text[FILE_BYTES];
	size_t len = read_text("/proc/1/environ", text);
	bool found = false;

	for (size_t at = 0; at < len && !found; at += strlen(text + at) + 1)
		found = strncmp(text + at, "container=", strlen("container=")) == 0;
	/* It may be an environment with secrets, our own included. */
	explicit_bzero(text, sizeof(text));
	return found;
}

void remedy_facts(struct remedy_facts *facts, int own_filters)
{
	*facts = (struct remedy_facts){
		.userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone"),
		.max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces"),
		.apparmor_userns =
			read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		.container = access("/.dockerenv", F_OK) == 0 ||
			     access("/run/.containerenv", F_OK) == 0 || init_says_container(),
		.filtered = count_filters() > own_filters,
	};
}

/* --- Sentences --- */

static bool userns_switched_off(const struct remedy_facts *facts)
{
	return facts->userns_clone == 0;
}

static bool in_container(const struct remedy_facts *facts)
{
	return facts->container;
}

static bool apparmor_restricts(const struct remedy_facts *facts)
{
	return facts->apparmor_userns > 0;
}

static bool apparmor_restricts_container(const struct remedy_facts *facts)
{
	return facts->container && apparmor_restricts(facts);
}

/* In a container there is always a filter, so it says nothing there. */
static bool filtered_on_host(const struct remedy_facts *facts)
{
	return !facts->container && facts->filtered;
}

/* As in a systemd unit with ProcSubset=pid, where /proc has no settings. */
static bool blind_and_filtered(const struct remedy_facts *facts)
{
	return facts->max_user_namespaces < 0 && filtered_on_host(facts);
}

struct row {
	uint64_t stages;
	int errors[ROW_ERRORS];				 /* none: any */
	bool (*holds)(const struct remedy_facts *facts); /* NULL: whatever the facts */
	const char *cure;
};

/* Order matters: what is certain comes before what is likely. */
static const struct row ROWS[] = {
	{AT(USER_NAMESPACE),
	 {EPERM},
	 userns_switched_off,
	 "This system forbids user namespaces to ordinary users; as root on the host: "
	 "sysctl -w kernel.unprivileged_userns_clone=1"},
	{AT(USER_NAMESPACE),
	 {ENOSPC},
	 NULL,
	 "This system allows no further user namespace; as root on the host: "
	 "sysctl -w user.max_user_namespaces=15000"},
	{AT(NAMESPACES),
	 {ENOSPC},
	 NULL,
	 "This system allows no further namespace of some kind; as root on the host raise "
	 "user.max_{net,pid,mnt,ipc,uts,cgroup}_namespaces with sysctl -w, for example to 15000."},
	{AT(USER_NAMESPACE) | AT(NAMESPACES) | AT(ROOT) | AT(PIVOT),
	 {EPERM},
	 in_container,
	 "The container's seccomp profile refuses it: Docker needs --security-opt "
	 "seccomp=PROFILE with a profile that allows unshare, mount, umount2 and pivot_root, "
	 "--security-opt systempaths=unconfined and, on AppArmor hosts, --security-opt "
	 "apparmor=unconfined; rootless Podman needs none of them."},
	{MOUNTS,
	 {EACCES},
	 in_container,
	 "The container's AppArmor profile refuses mounts: start it with --security-opt "
	 "apparmor=unconfined or a profile that allows mount, umount and pivot_root."},
	{AT(USER_NAMESPACE) | AT(ID_MAP) | AT(NAMESPACES) | AT(ROOT),
	 {EACCES, EPERM},
	 apparmor_restricts_container,
	 "AppArmor on the host restricts user namespaces "
	 "(kernel.apparmor_restrict_unprivileged_userns=1): start the container with "
	 "--security-opt apparmor=NAME of a profile that says `userns,`, or as root on the host: "
	 "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	{AT(USER_NAMESPACE) | AT(ID_MAP) | AT(NAMESPACES) | AT(ROOT),
	 {EACCES, EPERM},
	 apparmor_restricts,
	 "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns=1): "
	 "load an AppArmor profile with `userns,` for the mcp-exec-worker binary, or as root: "
	 "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	{AT(USER_NAMESPACE) | AT(ID_MAP),
	 {EACCES},
	 NULL,
	 "A security module refuses user namespaces: an AppArmor profile on mcp-exec-worker or its "
	 "parent needs the rule `userns,`; on SELinux look for the denial with ausearch -m avc."},
	{AT(SECCOMP),
	 {EINVAL, ENOSYS},
	 NULL,
	 "This kernel has no seccomp filters: use one with CONFIG_SECCOMP_FILTER=y."},
	{AT(LANDLOCK),
	 {0},
	 NULL,
	 "The kernel offers Landlock and then refuses it: a seccomp profile that allows "
	 "landlock_create_ruleset must allow landlock_add_rule and landlock_restrict_self too."},
	{AT(LOOPBACK),
	 {0},
	 NULL,
	 "The worker needs a netlink socket for it: a systemd unit with "
	 "RestrictAddressFamilies= must list AF_NETLINK, AF_INET and AF_UNIX."},
	/* ENOSYS is what our own units have a filter say. */
	{AT(WATCH),
	 {ENOENT, EPERM},
	 NULL,
	 "/proc must be the one of the server's own pid namespace (unshare --mount-proc), it must "
	 "not hide processes (hidepid=, and ProtectProc= in a systemd unit), and the kernel needs "
	 "CONFIG_PROC_CHILDREN and CONFIG_PROC_PAGE_MONITOR."},
	{AT(USER_NAMESPACE) | AT(ID_MAP),
	 {EPERM},
	 blind_and_filtered,
	 "What forbids it cannot be seen from here: `mcp-exec check` as an ordinary user in a "
	 "shell "
	 "tells. When all is well there, it is the systemd unit: RestrictNamespaces= must allow "
	 "all "
	 "namespaces, and SystemCallFilter= the call."},
	{ANYWHERE,
	 {EPERM, ENOSYS},
	 filtered_on_host,
	 "A seccomp filter is already on this process and may be what refuses it: in a "
	 "systemd unit allow the call in SystemCallFilter= and all namespaces in "
	 "RestrictNamespaces=; "
	 "from a Snap or Flatpak program start mcp-exec outside of it. Where `mcp-exec check` "
	 "fails "
	 "in a shell, too, do what that says."},
	{AT(USER_NAMESPACE),
	 {EPERM},
	 NULL,
	 "The kernel refuses user namespaces to this process: it must not run in a chroot, and its "
	 "user and group must be mapped in the user namespace around it."},
	{AT(USER_NAMESPACE) | AT(NAMESPACES),
	 {EINVAL, ENOSYS},
	 NULL,
	 "This kernel lacks a kind of namespace: use one with CONFIG_USER_NS, CONFIG_PID_NS, "
	 "CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and CONFIG_CGROUPS."},
	{AT(CGROUP),
	 {ENOENT},
	 NULL,
	 "MCP_EXEC_CGROUP is required, and no cgroup of version 2 with the controllers memory, "
	 "pids and "
	 "cpu is delegated to the server: start it by systemd with Delegate=yes and User= or "
	 "DynamicUser=, or set MCP_EXEC_CGROUP=auto."},
	{AT(CGROUP),
	 {0},
	 NULL,
	 "The cgroup that was delegated to the server can no longer be divided as it was: call "
	 "again, and start the server again if that does not help, or set MCP_EXEC_CGROUP=off."},
	{AT(DESCRIPTORS),
	 {ENOSYS},
	 NULL,
	 "close_range(2) is missing: use Linux 5.9 or newer, and in a container a runtime and "
	 "seccomp profile that know it."},
	{AT(EXEC),
	 {ENOENT, EACCES},
	 NULL,
	 "The interpreter or a library that it needs lies outside of what a run can see: install "
	 "Python 3 under /usr, or set MCP_EXEC_PYTHON to one whose files lie below its "
	 "own prefix."},
	{AT(WORKER),
	 {ENOENT, EACCES, ENOEXEC},
	 NULL,
	 "The program mcp-exec-worker is missing, not executable or not for this machine: "
	 "install mcp-exec again, with libexec/mcp-exec/mcp-exec-worker beside its bin."},
	{ANYWHERE,
	 {EAGAIN},
	 NULL,
	 "The limit on processes is reached: raise ulimit -u for this user, TasksMax= of the "
	 "systemd unit or --pids-limit of the container."},
	{ANYWHERE,
	 {EMFILE, ENFILE},
	 NULL,
	 "The limit on open files is reached: raise ulimit -n for this user, LimitNOFILE= of the "
	 "systemd unit, or fs.file-max of the system."},
	{ANYWHERE,
	 {EFBIG},
	 NULL,
	 "The limit on the size of files is too low: raise ulimit -f for this user, or LimitFSIZE= "
	 "of the systemd unit."},
	{AT(LIMITS),
	 {ENOMEM},
	 NULL,
	 "A limit on memory is too low: raise ulimit -v, -d and -s for this user, or LimitAS=, "
	 "LimitDATA= and LimitSTACK= of the systemd unit."},
	{ANYWHERE,
	 {ENOMEM},
	 NULL,
	 "Memory is out: give the machine, the container or the systemd unit more, or run fewer "
	 "instances of mcp-exec."},
	{AT(WORKER),
	 {0},
	 NULL,
	 "The worker could not be started or ended at once: its own lines on stderr say why."},
};

static const char GENERIC_CURE[] =
	"Run `mcp-exec check` as the same user to see every layer of the "
	"sandbox and what each one needs.";

static const char *const PYTHON_CURES[INTERPRETER_REASON_COUNT] = {
	[INTERPRETER_NOT_FOUND] =
		"there is no such program. Install python3, or set MCP_EXEC_PYTHON "
		"to the full path of a Python 3.",
	[INTERPRETER_NOT_RUNNABLE] =
		"the user that mcp-exec runs as cannot run it. Set MCP_EXEC_PYTHON to the "
		"full path of a Python 3 that this user may run, such as /usr/bin/python3.",
	[INTERPRETER_NO_ANSWER] =
		"it runs, but does not answer as a Python does. Set MCP_EXEC_PYTHON to the "
		"full path of a Python 3, such as /usr/bin/python3.",
	[INTERPRETER_NOT_PYTHON3] =
		"it is no Python 3 of a supported version. Install python3, or set MCP_EXEC_PYTHON "
		"to the full path of a Python 3.",
	[INTERPRETER_UNSAFE_PREFIX] =
		"its prefix is /, the home directory or above it, and a run must not see those. "
		"Set MCP_EXEC_PYTHON to a Python 3 that is installed in a directory of its own.",
};

static bool row_fits(const struct row *row, enum stage stage, int error,
		     const struct remedy_facts *facts)
{
	bool error_fits = row->errors[0] == 0;

	for (size_t i = 0; i < ROW_ERRORS && row->errors[i] != 0; i++)
		error_fits = error_fits || row->errors[i] == error;
	return error_fits && (row->stages & UINT64_C(1) << stage) &&
	       (!row->holds || row->holds(facts));
}

static const char *find_cure(enum stage stage, int error, const struct remedy_facts *facts)
{
	for (size_t i = 0; stage < STAGE_COUNT && i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
		if (row_fits(&ROWS[i], stage, error, facts))
			return ROWS[i].cure;
	}
	return GENERIC_CURE;
}

static int python_sentence(char *text, size_t size, int reason, const char *python)
{
	bool known = reason > 0 && reason < INTERPRETER_REASON_COUNT;
	const char *cure = PYTHON_CURES[known ? reason : INTERPRETER_NOT_RUNNABLE];
	size_t len;

	if (!python)
		python = "python3";
	len = strnlen(python, PYTHON_BYTES);
	return snprintf(text, size,
			"The sandbox could not be built: failed while %s (%s). "
			"MCP_EXEC_PYTHON is \"%.*s\": %s",
			stage_what(STAGE_INTERPRETER), stage_name(STAGE_INTERPRETER),
			(int)utf8_whole(python, len), python, cure);
}

static int stage_sentence(char *text, size_t size, enum stage stage, int error,
			  const struct remedy_facts *facts)
{
	return snprintf(text, size, "The sandbox could not be built: failed while %s (%s%s%s). %s",
			stage_what(stage), stage_name(stage), error ? ", " : "",
			error ? log_errno(error) : "", find_cure(stage, error, facts));
}

size_t remedy_sentence(char *text, size_t size, enum stage stage, int error,
		       const struct remedy_facts *facts, const char *python)
{
	int len;

	if (size == 0)
		return 0;
	len = stage == STAGE_INTERPRETER ? python_sentence(text, size, error, python)
					 : stage_sentence(text, size, stage, error, facts);
	if (len < 0)
		len = 0;
	if ((size_t)len < size)
		return (size_t)len;
	/* It was cut: never in the middle of a character. */
	len = (int)utf8_whole(text, size - 1);
	text[len] = '\0';
	return (size_t)len;
}
