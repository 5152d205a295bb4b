/* wrap_supervisor - leaves out what the supervisor does to itself and to the worker that it starts. */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/fds.h"
#include "common/signals.h"
#include "supervisor/harden.h"
#include "supervisor/secret.h"
#include "tests/leave_out/leave_out.h"

static bool early;   /* in harden_early */
static bool late;    /* in harden_late or behind it */
static bool child;   /* in a child that becomes the worker */
static bool changed; /* the change of user was asked for, of these: */
static uid_t wanted_uid;
static gid_t wanted_gid;

WRAP(int, harden_early, void)
{
	int r;

	early = true;
	r = __real_harden_early();
	early = false;
	return r;
}

WRAP(int, harden_late, void)
{
	late = true;
	return __real_harden_late();
}

WRAP(pid_t, fork, void)
{
	pid_t pid = __real_fork();

	child = pid == 0;
	return pid;
}

WRAP(int, prctl, int option, ...)
{
	long a[4];
	va_list list;

	va_start(list, option);
	for (size_t i = 0; i < 4; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if ((option == PR_SET_DUMPABLE &&
	     left_out(late ? STEP_undumpable_late : STEP_undumpable_early)) ||
	    (option == PR_SET_NO_NEW_PRIVS && left_out(STEP_nnp_supervisor)) ||
	    (option == PR_SET_PDEATHSIG && left_out(STEP_pdeathsig)))
		return 0;
	return __real_prctl(option, a[0], a[1], a[2], a[3]);
}

WRAP(int, setrlimit, __rlimit_resource_t resource, const struct rlimit *limit)
{
	if (resource == RLIMIT_CORE && left_out(STEP_core_start))
		return 0;
	return __real_setrlimit(resource, limit);
}

WRAP(mode_t, umask, mode_t mask)
{
	return left_out(STEP_umask_start) ? mask : __real_umask(mask);
}

/* --- signals: reset at the start, and once more in the child --- */

static bool keeps_signals(void)
{
	return (early && left_out(STEP_signals_start)) || (child && left_out(STEP_signals_spawn));
}

WRAP(void, signals_reset, void)
{
	if (!keeps_signals())
		__real_signals_reset();
}

/* --- the change of user --- */

WRAP(int, setgroups, size_t n, const gid_t *groups)
{
	return left_out(STEP_drop_groups) ? 0 : __real_setgroups(n, groups);
}

/* Asked for root's id it is the verification, which tries what must fail. */
static bool skips(unsigned int effective)
{
	return effective == 0 ? changed && left_out(STEP_drop_verify) : left_out(STEP_drop_root);
}

static int skipped(unsigned int effective)
{
	errno = EPERM;
	return effective == 0 ? -1 : 0;
}

WRAP(int, setresgid, gid_t real, gid_t effective, gid_t saved)
{
	if (effective != 0) {
		wanted_gid = effective;
		changed = true;
	}
	return skips(effective) ? skipped(effective) : __real_setresgid(real, effective, saved);
}

WRAP(int, setresuid, uid_t real, uid_t effective, uid_t saved)
{
	if (effective != 0)
		wanted_uid = effective;
	return skips(effective) ? skipped(effective) : __real_setresuid(real, effective, saved);
}

WRAP(int, getresuid, uid_t *real, uid_t *effective, uid_t *saved)
{
	int r = __real_getresuid(real, effective, saved);

	if (changed && left_out(STEP_drop_verify))
		*real = *effective = *saved = wanted_uid;
	else if (!changed && left_out(STEP_hidden_root))
		*real = *saved = *effective;
	return r;
}

WRAP(int, getresgid, gid_t *real, gid_t *effective, gid_t *saved)
{
	int r = __real_getresgid(real, effective, saved);

	if (changed && left_out(STEP_drop_verify))
		*real = *effective = *saved = wanted_gid;
	return r;
}

WRAP(int, getgroups, int size, gid_t *groups)
{
	return left_out(STEP_drop_verify) ? 0 : __real_getgroups(size, groups);
}

/* --- what comes from the worker --- */

WRAP(int, blob_view, int fd, uint64_t max_bytes, struct blob_view *view)
{
	return __real_blob_view(fd, left_out(STEP_output_check) ? UINT64_MAX : max_bytes, view);
}

/* --- what is inherited --- */

WRAP(int, fds_close_all_but, const int *keep, size_t n)
{
	return left_out(child ? STEP_close_spawn : STEP_close_start)
		       ? 0
		       : __real_fds_close_all_but(keep, n);
}

WRAP(int, execveat, int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	return __real_execveat(dir, path, argv, left_out(STEP_environment_worker) ? environ : env,
			       flags);
}

WRAP(pid_t, setsid, void)
{
	return left_out(STEP_session_worker) ? getpid() : __real_setsid();
}

WRAP(int, chdir, const char *path)
{
	return left_out(STEP_working_directory) ? 0 : __real_chdir(path);
}

WRAP(enum secret_state, secret_take, void)
{
	return left_out(STEP_secret) ? SECRET_NONE : __real_secret_take();
}
