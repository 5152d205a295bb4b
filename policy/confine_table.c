/* confine_table - what a pristine interpreter, worker and supervisor may do beside what a run may, one row each, and why. Printed by
 * --print-policy.
 *
 * The worker's rows hold for its descendants up to the moment when init loads the run's filter: builder, init, and the
 * interpreter while it is asked about itself.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "policy/confine.h"
#include "policy/filter_rows.h"

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

static const struct filter_rule pristine_rules[] = {
	ALLOW_IF("setns", "a copy enters the sandbox that was built for it",
		 MASKED(1, ~(unsigned long long)NAMESPACES, 0)),
	ALLOW_IF("sched_setaffinity", "the CPUs of a run", EQUAL(0, 0)),
	ALLOW("capget", "capabilities are dropped, and looked at"),
	ALLOW("capset", "capabilities are dropped"),
	ALLOW_IF("prctl", "capabilities are dropped", EQUAL(0, PR_SET_SECUREBITS)),
	ALLOW_IF("prctl", "capabilities are dropped", EQUAL(0, PR_CAPBSET_DROP)),
	ALLOW_IF("prctl", "capabilities are dropped, and looked at", EQUAL(0, PR_CAP_AMBIENT)),
	ALLOW_IF("prctl",
		 "a builder writes its maps of ids; a copy can look at itself, as any program",
		 EQUAL(0, PR_SET_DUMPABLE)),
	ALLOW("landlock_create_ruleset", "the second wall around files"),
	ALLOW("landlock_add_rule", "the second wall around files"),
	ALLOW("landlock_restrict_self", "the second wall around files"),
	ALLOW_IF("seccomp", "the filter of a run", EQUAL(0, SECCOMP_SET_MODE_FILTER)),
	ALLOW("close_range", "inherited descriptors are closed"),
};

static const struct filter_rule worker_rules[] = {
	ALLOW_IF("unshare", "the seven namespaces of a run",
		 MASKED(0, ~(unsigned long long)NAMESPACES, 0)),
	ALLOW("mount", "the view of a run"),
	ALLOW("mount_setattr", "the view of a run"),
	ALLOW_IF("umount2", "the view of a run", EQUAL(1, MNT_DETACH)),
	ALLOW("pivot_root", "the view of a run"),
	ALLOW("sethostname", "the constant host name"),
	ALLOW_IF("socket", "lo is brought up", EQUAL(0, AF_NETLINK), MASKED(1, SOCK_TYPE, SOCK_RAW),
		 EQUAL(2, NETLINK_ROUTE)),
	/* With a flag that there is not, so it sets nothing. */
	ALLOW_IF("seccomp", "libseccomp asks what the kernel can do",
		 EQUAL(0, SECCOMP_SET_MODE_STRICT), EQUAL(1, 1)),
	ALLOW_IF("seccomp", "libseccomp asks what the kernel can do",
		 EQUAL(0, SECCOMP_GET_ACTION_AVAIL)),
	ALLOW_IF("seccomp", "libseccomp asks what the kernel can do",
		 EQUAL(0, SECCOMP_GET_NOTIF_SIZES)),
	ALLOW_IF("ioctl", "what a run was refused is noted", EQUAL(1, SECCOMP_IOCTL_NOTIF_RECV)),
	ALLOW_IF("ioctl", "what a run was refused is noted", EQUAL(1, SECCOMP_IOCTL_NOTIF_SEND)),
	ALLOW("prlimit64", "the memory watch moves limits of a run's processes"),
	ALLOW_IF("kcmp", "the memory watch asks who shares memory", EQUAL(2, KCMP_VM)),
	ALLOW("splice", "output goes from pipes to memfds"),
	ALLOW("memfd_create", "programs and output pass as memfds"),
	ALLOW_IF("fcntl", "memfds are sealed", EQUAL(1, F_ADD_SEALS)),
	ALLOW("signalfd4", "the loop waits for children"),
	/* Refused to a run, which does without; and to a pristine interpreter, or its copies would have what runs lack. */
	ALLOW("statx", "what newer C libraries call for stat"),
	ALLOW("faccessat2", "what newer C libraries call for access"),
	ALLOW("rseq", "what newer C libraries register threads with"),
#if defined(__SANITIZE_ADDRESS__)
	ALLOW("ptrace", "leaks are looked for by a helper that stops the threads"),
	ALLOW("getdents", "that helper"),
	ALLOW_IF("clone", "that helper", MASKED(0, CLONE_UNTRACED | NAMESPACES, CLONE_UNTRACED)),
#endif
};

static const struct filter_rule supervisor_rules[] = {
	ALLOW_IF("execveat", "the worker is started from the descriptor that was opened for it",
		 EQUAL(4, AT_EMPTY_PATH)),
};

const struct filter_rule *confine_pristine_rule(size_t i)
{
	return i < sizeof(pristine_rules) / sizeof(*pristine_rules) ? &pristine_rules[i] : NULL;
}

const struct filter_rule *confine_worker_rule(size_t i)
{
	return i < sizeof(worker_rules) / sizeof(*worker_rules) ? &worker_rules[i] : NULL;
}

const struct filter_rule *confine_supervisor_rule(size_t i)
{
	return i < sizeof(supervisor_rules) / sizeof(*supervisor_rules) ? &supervisor_rules[i]
									: NULL;
}
