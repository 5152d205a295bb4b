/* filter - see the header. */
#include "policy/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/fds.h"

/* The largest program the kernel takes: BPF_MAXINSNS of linux/bpf_common.h. */
#define MAX_INSTRUCTIONS 4096

/* What a call gets that is not in the table, and one of a foreign ABI. */
#define OTHERS ENOSYS

static void cleanup_filter(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

static struct scmp_arg_cmp comparison(const struct filter_condition *condition)
{
	struct scmp_arg_cmp cmp = {.arg = condition->arg, .datum_a = condition->value};

	switch (condition->compare) {
	case FILTER_MASKED:
		cmp.op = SCMP_CMP_MASKED_EQ;
		cmp.datum_a = condition->mask;
		cmp.datum_b = condition->value;
		break;
	case FILTER_GREATER:
		cmp.op = SCMP_CMP_GT;
		break;
	case FILTER_EQUAL:
	case FILTER_ANY:
		cmp.op = SCMP_CMP_EQ;
		break;
	}
	return cmp;
}

static int add_rule(scmp_filter_ctx ctx, const struct filter_rule *rule)
{
	struct scmp_arg_cmp args[FILTER_CONDITIONS];
	unsigned int n = 0;
	int nr = seccomp_syscall_resolve_name(rule->name);

	/* Negative numbers are calls of other architectures, or newer than this libseccomp. Rows with the
	 * default's errno are there for their reason: libseccomp takes no rule that changes nothing. */
	if (nr < 0 || rule->error == OTHERS)
		return 0;
	while (n < FILTER_CONDITIONS && rule->conditions[n].compare != FILTER_ANY) {
		args[n] = comparison(&rule->conditions[n]);
		n++;
	}
	return seccomp_rule_add_array(
		ctx, rule->error ? SCMP_ACT_ERRNO((unsigned int)rule->error) : SCMP_ACT_ALLOW, nr,
		n, args);
}

static int add_rules(scmp_filter_ctx ctx, filter_table *table)
{
	const struct filter_rule *rule;

	for (size_t i = 0; (rule = table(i)); i++) {
		int r = add_rule(ctx, rule);

		if (r < 0)
			return r;
	}
	return 0;
}

static int set_attributes(scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(OTHERS));

	/* A binary tree: the kernel emulates the filter for every call number when it is loaded. */
	return r < 0 ? r : seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
}

/* libseccomp exports to a descriptor only. */
static int export_filter(scmp_filter_ctx ctx, struct sock_fprog *filter)
{
	const size_t max = MAX_INSTRUCTIONS * sizeof(struct sock_filter);
	_cleanup_fd_ int fd = blob_new();
	_cleanup_free_ struct sock_filter *code = malloc(max);
	ssize_t len;
	int r;

	if (fd < 0)
		return fd;
	if (!code)
		return -ENOMEM;
	/* libseccomp takes a short write for a whole one; RLIMIT_FSIZE, which causes it, shows here as EFBIG. */
	if (ftruncate(fd, (off_t)max) < 0 || ftruncate(fd, 0) < 0)
		return -errno;
	if ((r = seccomp_export_bpf(ctx, fd)) < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if ((len = fds_read_all(fd, code, max)) < 0)
		return (int)len;
	filter->len = (unsigned short)((size_t)len / sizeof(*code));
	filter->filter = take_ptr(code);
	return 0;
}

int filter_compile(filter_table *table, struct sock_fprog *filter)
{
	__attribute__((cleanup(cleanup_filter))) scmp_filter_ctx ctx =
		seccomp_init(SCMP_ACT_ERRNO(OTHERS));
	int r;

	if (!ctx)
		return -ENOMEM;
	if ((r = set_attributes(ctx)) < 0 || (r = add_rules(ctx, table)) < 0)
		return r;
	return export_filter(ctx, filter);
}

int filter_apply(const struct sock_fprog *filter)
{
	struct sock_fprog program = *filter;

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ? -errno : 0;
}

/* Whether a table before this one allows the call whatever its arguments are. */
static bool is_covered(filter_table *const tables[], size_t which, const char *name)
{
	const struct filter_rule *rule;

	for (size_t t = 0; t < which; t++)
		for (size_t i = 0; (rule = tables[t](i)); i++)
			if (!rule->error && rule->conditions[0].compare == FILTER_ANY &&
			    !strcmp(rule->name, name))
				return true;
	return false;
}

static int add_allowed(scmp_filter_ctx ctx, filter_table *const tables[], size_t which)
{
	const struct filter_rule *rule;

	for (size_t i = 0; (rule = tables[which](i)); i++) {
		int r = rule->error || is_covered(tables, which, rule->name) ? 0
									     : add_rule(ctx, rule);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Not seccomp_load, which falls back to prctl(2) and tells a wrong errno; and through a socket, on which a message is whole
 * or not at all, for the server starts whatever RLIMIT_FSIZE is. */
static int load_exported(scmp_filter_ctx ctx)
{
	_cleanup_free_ struct sock_filter *code = calloc(MAX_INSTRUCTIONS, sizeof(*code));
	struct sock_fprog filter = {.filter = code};
	int pair[2], r;
	ssize_t n;

	if (!code)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	_cleanup_fd_ int in = pair[0];
	_cleanup_fd_ int out = pair[1];

	if ((r = seccomp_export_bpf(ctx, in)) < 0)
		return r;
	n = recv(out, code, MAX_INSTRUCTIONS * sizeof(*code), 0);
	if (n < 0)
		return -errno;
	filter.len = (unsigned short)((size_t)n / sizeof(*code));
	return filter_apply(&filter);
}

/* The kernel takes the strictest answer of all filters: an errno comes before a notification, that before TRACE, and TRACE
 * is ENOSYS where nobody traces. So what is refused here still gets whatever a filter below says of it. */
int filter_confine(filter_table *const tables[], size_t n)
{
	__attribute__((cleanup(cleanup_filter))) scmp_filter_ctx ctx =
		seccomp_init(SCMP_ACT_TRACE(0));
	int r;

	if (!ctx)
		return -ENOMEM;
	if ((r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRACE(0))) < 0 ||
	    (r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2)) < 0)
		return r;
	for (size_t which = 0; which < n; which++)
		if ((r = add_allowed(ctx, tables, which)) < 0)
			return r;
	return load_exported(ctx);
}
