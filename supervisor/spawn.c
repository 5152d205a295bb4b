/* spawn - theory of operation
 *
 * fork(2) and not posix_spawn(3): between fork and exec the child arranges its descriptors by number, leaves our
 * session, asks to die with us and looks whether we are still there; posix_spawn knows none of the last two. Everything
 * that allocates (arguments, environment) is made before the fork; the child only makes system calls. All signals are
 * blocked across the fork, so that no handler of the event loop runs in the child and writes into our signal pipe.
 */
#include "supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/log.h"
#include "common/signals.h"

#define WORKER_PATH "../libexec/mcp-exec/mcp-exec-worker"
#define WORKER_SOCKET 3
/* Above every number that the child assigns on purpose. */
#define FIRST_SPARE_FD 10
#define EXIT_NOT_STARTED 127

#define MAX_ARGUMENTS 32
#define MAX_NUMBERS 7

/* What an interpreter is found by, and nothing else: no token, no setting, no loader variable. PYTHONPATH is passed so
 * that the worker can say that it is left out of the sandbox, JOURNAL_STREAM because its log goes where ours goes. */
static const char *const passed[] = {
	"PATH",		  "HOME",
	"USER",		  "LOGNAME",
	"LANG",		  "LC_ALL",
	"LC_CTYPE",	  "TZ",
	"PYENV_ROOT",	  "PYENV_VERSION",
	"PYENV_DIR",	  "ASDF_DIR",
	"ASDF_DATA_DIR",  "MISE_DATA_DIR",
	"VIRTUAL_ENV",	  "CONDA_PREFIX",
	"XDG_DATA_HOME",  "XDG_CONFIG_HOME",
	"XDG_CACHE_HOME", "PYTHONPATH",
	"JOURNAL_STREAM",
#if defined(__SANITIZE_ADDRESS__)
	"ASAN_OPTIONS",	  "UBSAN_OPTIONS",
	"LSAN_OPTIONS",
#endif
};

#define PASSED (sizeof(passed) / sizeof(passed[0]))

/* All that the child needs, made before the fork. */
struct launch {
	char *arguments[MAX_ARGUMENTS];
	size_t n;
	char numbers[MAX_NUMBERS][24];
	size_t n_numbers;
	char *environment[PASSED + 1];
	int worker_fd;
	int sock; /* -1: in the foreground, with our standard descriptors */
	int told; /* where the child tells its errno when it cannot become the worker; close-on-exec */
	pid_t parent;
};

int spawn_own_path(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size);

	if (len < 0)
		return -errno;
	if ((size_t)len >= size)
		return -ENAMETOOLONG;
	path[len] = '\0';
	return 0;
}

/* Finds the worker beside our own binary. The path is used once and never kept. */
static int worker_path(char *path, size_t size)
{
	int r = spawn_own_path(path, size - sizeof(WORKER_PATH));
	char *slash;

	if (r < 0)
		return r;
	slash = strrchr(path, '/');
	if (slash == NULL)
		return -ENOENT;
	memcpy(slash + 1, WORKER_PATH, sizeof(WORKER_PATH));
	return 0;
}

/* O_PATH: starting it needs the right to execute it, not to read it. */
static int open_program(const char *path, int *out)
{
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || (status.st_mode & 0111) == 0)
		return -EACCES;
	*out = take_fd(&fd);
	return 0;
}

int spawn_open(struct spawn_spec *spec, const struct config *config, char *error, size_t error_size)
{
	char path[PATH_MAX] = "";
	int r = worker_path(path, sizeof(path));

	spec->worker_fd = -1;
	spec->config = config;
	if (r == 0)
		r = open_program(path, &spec->worker_fd);
	if (r < 0)
		snprintf(error, error_size,
			 "The worker cannot be opened at %.200s (%s); install both programs "
			 "together.",
			 path, strerror(-r));
	return r;
}

/* execveat(2) promises not to write to the arguments, its prototype does not. */
static void add_argument(struct launch *launch, const char *text)
{
	launch->arguments[launch->n++] = (char *)(uintptr_t)text;
}

static void add_number(struct launch *launch, const char *flag, uint64_t number)
{
	char *text = launch->numbers[launch->n_numbers++];

	snprintf(text, sizeof(launch->numbers[0]), "%ju", (uintmax_t)number);
	add_argument(launch, flag);
	add_argument(launch, text);
}

static void add_settings(struct launch *launch, const struct config *config)
{
	add_argument(launch, "--python");
	add_argument(launch, config->python);
	add_number(launch, "--memory-bytes", config->limits.memory_bytes);
	add_number(launch, "--tmp-bytes", config->limits.tmp_bytes);
	add_number(launch, "--max-processes", config->limits.max_processes);
	add_number(launch, "--cpus", config->limits.cpus);
	add_number(launch, "--max-cpu-s", config->limits.max_cpu_s);
	add_number(launch, "--warm", config->warm.on);
	add_number(launch, "--warm-idle-s", config->warm.idle_s);
	add_argument(launch, "--preload");
	add_argument(launch, config->preload != NULL ? config->preload : "");
	add_argument(launch, "--cgroup");
	add_argument(launch, mechanism_wish_name(config->cgroup));
	add_argument(launch, "--log-level");
	add_argument(launch, log_level_name(config->log_level));
	launch->arguments[launch->n] = NULL;
}

/* The entry "NAME=value" of our environment, or NULL. */
static char *find_entry(const char *name)
{
	size_t len = strlen(name);

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return *entry;
	return NULL;
}

static void add_environment(struct launch *launch)
{
	size_t n = 0;

	for (size_t i = 0; i < PASSED; i++) {
		char *entry = find_entry(passed[i]);

		if (entry != NULL)
			launch->environment[n++] = entry;
	}
	launch->environment[n] = NULL;
}

static void launch_init(struct launch *launch, const struct spawn_spec *spec, const char *mode,
			const char *extra, int sock)
{
	*launch = (struct launch){.worker_fd = spec->worker_fd, .sock = sock, .parent = getpid()};
	add_argument(launch, "mcp-exec-worker");
	if (mode != NULL)
		add_argument(launch, mode);
	if (extra != NULL)
		add_argument(launch, extra);
	add_settings(launch, spec->config);
	add_environment(launch);
}

/* Moves both descriptors out of the way first: either may already have a number that is to be assigned. The worker's
 * log goes the same way as ours, which never waits. */
static bool arrange_descriptors(struct launch *launch)
{
	int spare_sock = fcntl(launch->sock, F_DUPFD_CLOEXEC, FIRST_SPARE_FD);
	int spare_worker = fcntl(launch->worker_fd, F_DUPFD_CLOEXEC, FIRST_SPARE_FD);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	launch->worker_fd = spare_worker;
	return spare_sock >= 0 && spare_worker >= 0 && null >= 0 &&
	       dup2(log_descriptor(), 2) == 2 && dup2(null, 0) == 0 && dup2(null, 1) == 1 &&
	       dup2(spare_sock, WORKER_SOCKET) == WORKER_SOCKET;
}

/* Ends the child; the parent reads why. */
static _Noreturn void give_up(const struct launch *launch, int error)
{
	(void)fds_write_all(launch->told, &error, sizeof(error));
	_exit(EXIT_NOT_STARTED);
}

/* In the child. A session of its own keeps a terminal's ^C from the worker, so that the supervisor can end it in order;
 * in the foreground ^C is meant for both. */
static _Noreturn void become_worker(struct launch *launch)
{
	bool serving = launch->sock >= 0;
	int keep[] = {0, 1, 2, launch->told, -1, -1};
	int r;

	/* Ignored signals and the mask survive exec; the worker would pass them on to runs. */
	signals_reset();
	if (serving && (setsid() < 0 || !arrange_descriptors(launch)))
		give_up(launch, errno);
	keep[4] = launch->worker_fd;
	keep[5] = serving ? WORKER_SOCKET : -1;
	r = fds_close_all_but(keep, sizeof(keep) / sizeof(keep[0]));
	if (r < 0)
		give_up(launch, -r);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != launch->parent)
		give_up(launch, errno);
	execveat(launch->worker_fd, "", launch->arguments, launch->environment, AT_EMPTY_PATH);
	give_up(launch, errno);
}

/* Waits until the child is the worker, or has said why it is not. Returns 0 or a negative errno. */
static int hear_child(int told, pid_t pid)
{
	int error = 0;
	ssize_t n;

	do {
		n = read(told, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(error) && error > 0 ? -error : -EIO;
}

static pid_t fork_masked(struct launch *launch)
{
	sigset_t all, before;
	pid_t pid;
	int error;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	error = errno;
	if (pid == 0)
		become_worker(launch);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}

static int launch_fork(struct launch *launch, pid_t *pid)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	_cleanup_fd_ int ours = ends[0];
	_cleanup_fd_ int theirs = ends[1];
	/* Out of the way of the numbers that the child assigns. */
	_cleanup_fd_ int told = fcntl(theirs, F_DUPFD_CLOEXEC, FIRST_SPARE_FD);

	if (told < 0)
		return -errno;
	launch->told = told;
	*pid = fork_masked(launch);
	if (*pid < 0)
		return -errno;
	cleanup_fd(&theirs);
	cleanup_fd(&told);
	return hear_child(ours, *pid);
}

int spawn_worker(const struct spawn_spec *spec, pid_t *pid, int *sock)
{
	int pair[2];
	struct launch launch;
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	_cleanup_fd_ int ours = pair[0];
	_cleanup_fd_ int theirs = pair[1];

	/* Only our end: O_NONBLOCK belongs to each end of the pair on its own. */
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	launch_init(&launch, spec, NULL, NULL, theirs);
	r = launch_fork(&launch, pid);
	if (r < 0)
		return r;
	*sock = take_fd(&ours);
	return 0;
}

int spawn_report(const struct spawn_spec *spec, const char *mode, const char *extra)
{
	struct launch launch;
	pid_t pid = -1;
	int status;
	int r;

	launch_init(&launch, spec, mode, extra, -1);
	r = launch_fork(&launch, &pid);
	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
