/* filter - theory of operation
 *
 * libseccomp has one answer for whatever fits no rule. A call whose table has an answer of its own for that (a last row
 * without conditions) is therefore compiled alone, to a part with that answer. In the main part, which has all other
 * calls, a mark stands for it: an action that no table has. Parts follow each other, and as all jumps of BPF go forward
 * by a distance, each mark, a return, is then made a jump to its part.
 */
#include "policy/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/fds.h"

/* The largest program the kernel takes: BPF_MAXINSNS of linux/bpf_common.h. */
#define MAX_INSTRUCTIONS 4096

/* Linux 5.19; older headers lack it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Row i leads to a part of its own. */
#define MARK(i) SCMP_ACT_TRACE(i)

/* What a call gets that is not in the table, and one of a foreign ABI. */
#define OTHERS ENOSYS

static const struct filter_rule others = {.error = OTHERS};

struct compiler {
	filter_table *table;
	bool noting;
	struct sock_filter *code;
	size_t len;
};

static void cleanup_filter(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

static bool is_unconditional(const struct filter_rule *rule)
{
	return rule->conditions[0].compare == FILTER_ANY;
}

/* Whether row i says what is left over by the rows of its call before it. */
static bool is_rest(filter_table *table, size_t i)
{
	const struct filter_rule *rule = table(i);

	if (!is_unconditional(rule))
		return false;
	for (size_t k = 0; k < i; k++)
		if (!strcmp(table(k)->name, rule->name))
			return true;
	return false;
}

static bool has_rest(filter_table *table, const char *name)
{
	for (size_t i = 0; table(i); i++)
		if (!strcmp(table(i)->name, name) && is_rest(table, i))
			return true;
	return false;
}

static bool holds(const struct filter_condition *condition,
		  const unsigned long long args[FILTER_ARGS])
{
	switch (condition->compare) {
	case FILTER_EQUAL:
		return args[condition->arg] == condition->value;
	case FILTER_MASKED:
		return (args[condition->arg] & condition->mask) == condition->value;
	case FILTER_GREATER:
		return args[condition->arg] > condition->value;
	case FILTER_ANY:
		break;
	}
	return true;
}

static bool fits(const struct filter_rule *rule, const unsigned long long args[FILTER_ARGS])
{
	for (size_t i = 0; i < FILTER_CONDITIONS; i++)
		if (!holds(&rule->conditions[i], args))
			return false;
	return true;
}

int filter_verdict(filter_table *table, int number, const unsigned long long args[FILTER_ARGS])
{
	_cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	const struct filter_rule *rule;

	for (size_t i = 0; name && (rule = table(i)); i++)
		if (!strcmp(rule->name, name) && fits(rule, args))
			return rule->error;
	return OTHERS;
}

static uint32_t action_of(const struct compiler *compiler, const struct filter_rule *rule)
{
	if (!rule->error)
		return SCMP_ACT_ALLOW;
	return compiler->noting && !rule->quiet ? SCMP_ACT_NOTIFY
						: SCMP_ACT_ERRNO((unsigned int)rule->error);
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

/* The filter answers otherwise by itself: libseccomp takes no rule that changes nothing. */
static int add_rule(scmp_filter_ctx ctx, const struct filter_rule *rule, uint32_t action,
		    uint32_t otherwise)
{
	struct scmp_arg_cmp args[FILTER_CONDITIONS];
	unsigned int n = 0;
	int nr = seccomp_syscall_resolve_name(rule->name);

	/* Negative numbers are calls of other architectures, or newer than this libseccomp. */
	if (nr < 0 || action == otherwise)
		return 0;
	while (n < FILTER_CONDITIONS && rule->conditions[n].compare != FILTER_ANY) {
		args[n] = comparison(&rule->conditions[n]);
		n++;
	}
	return seccomp_rule_add_array(ctx, action, nr, n, args);
}

/* The rows of the calls without a part of their own, and a mark for each other call. */
static int add_main_rules(scmp_filter_ctx ctx, const struct compiler *compiler, uint32_t otherwise)
{
	const struct filter_rule *rule;

	for (size_t i = 0; (rule = compiler->table(i)); i++) {
		int r = 0;

		if (is_rest(compiler->table, i))
			r = add_rule(ctx, rule, MARK((uint32_t)i), otherwise);
		else if (!has_rest(compiler->table, rule->name))
			r = add_rule(ctx, rule, action_of(compiler, rule), otherwise);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_rules_of(scmp_filter_ctx ctx, const struct compiler *compiler, const char *call,
			uint32_t otherwise)
{
	const struct filter_rule *rule;

	for (size_t i = 0; (rule = compiler->table(i)); i++) {
		bool wanted = !strcmp(rule->name, call) && !is_unconditional(rule);
		int r = wanted ? add_rule(ctx, rule, action_of(compiler, rule), otherwise) : 0;

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

/* Appends what libseccomp made; it exports to a descriptor only. */
static int append_export(scmp_filter_ctx ctx, struct compiler *compiler)
{
	const size_t max = (MAX_INSTRUCTIONS - compiler->len) * sizeof(*compiler->code);
	_cleanup_fd_ int fd = blob_new();
	ssize_t len;
	int r;

	if (fd < 0)
		return fd;
	/* libseccomp takes a short write for a whole one; RLIMIT_FSIZE, which causes it, shows here as EFBIG. */
	if (ftruncate(fd, (off_t)(MAX_INSTRUCTIONS * sizeof(*compiler->code))) < 0 ||
	    ftruncate(fd, 0) < 0)
		return -errno;
	if ((r = seccomp_export_bpf(ctx, fd)) < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if ((len = fds_read_all(fd, compiler->code + compiler->len, max)) < 0)
		return (int)len;
	compiler->len += (size_t)len / sizeof(*compiler->code);
	return 0;
}

/* Compiles one part, and appends it: the call that rest is the last row of, or the main part when it has no name. */
static int compile_part(struct compiler *compiler, const struct filter_rule *rest)
{
	uint32_t otherwise = action_of(compiler, rest);
	__attribute__((cleanup(cleanup_filter))) scmp_filter_ctx ctx = seccomp_init(otherwise);
	int r;

	/* It says no more: a kernel without notes, or no memory. */
	if (!ctx)
		return -ENOMEM;
	if ((r = set_attributes(ctx)) < 0)
		return r;
	r = rest->name ? add_rules_of(ctx, compiler, rest->name, otherwise)
		       : add_main_rules(ctx, compiler, otherwise);
	return r < 0 ? r : append_export(ctx, compiler);
}

/* Makes the marks of row i, all in the main part, jumps to what is appended next. */
static void lead_on(struct compiler *compiler, size_t main_len, size_t i)
{
	for (size_t at = 0; at < main_len; at++)
		if (compiler->code[at].code == (BPF_RET | BPF_K) &&
		    compiler->code[at].k == MARK((uint32_t)i))
			compiler->code[at] = (struct sock_filter)BPF_STMT(
				BPF_JMP | BPF_JA, (uint32_t)(compiler->len - at - 1));
}

static int compile_all(struct compiler *compiler)
{
	int r = compile_part(compiler, &others);
	size_t main_len = compiler->len;

	for (size_t i = 0; r == 0 && compiler->table(i); i++) {
		if (!is_rest(compiler->table, i) ||
		    seccomp_syscall_resolve_name(compiler->table(i)->name) < 0)
			continue;
		lead_on(compiler, main_len, i);
		r = compile_part(compiler, compiler->table(i));
	}
	return r;
}

static int compile(filter_table *table, bool noting, struct sock_fprog *filter)
{
	_cleanup_free_ struct sock_filter *code = calloc(MAX_INSTRUCTIONS, sizeof(*code));
	struct compiler compiler = {.table = table, .noting = noting, .code = code};
	int r;

	if (!code)
		return -ENOMEM;
	if ((r = compile_all(&compiler)) < 0)
		return r;
	filter->len = (unsigned short)compiler.len;
	filter->filter = take_ptr(code);
	return 0;
}

int filter_compile(filter_table *table, struct sock_fprog *filter)
{
	return compile(table, false, filter);
}

int filter_compile_noting(filter_table *table, struct sock_fprog *filter)
{
	return compile(table, true, filter);
}

static int load_filter(const struct sock_fprog *filter, unsigned long flags)
{
	struct sock_fprog program = *filter;
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	return r < 0 ? -errno : (int)r;
}

int filter_apply(const struct sock_fprog *filter)
{
	return load_filter(filter, 0);
}

int filter_listen(const struct sock_fprog *filter)
{
	return load_filter(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER |
					   SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}
