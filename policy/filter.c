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
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The largest program the kernel takes: BPF_MAXINSNS of linux/bpf_common.h. */
#define MAX_INSTRUCTIONS 4096

/* Row i leads to a part of its own. */
#define MARK(i) SCMP_ACT_TRACE(i)

/* What a call gets that is not in the table, and one of a foreign ABI. */
#define OTHERS ENOSYS

/* What the filter of a parent refuses. The kernel takes the strictest answer of all filters: an errno comes before a
 * notification, that before TRACE, and TRACE is ENOSYS where nobody traces. So a filter below still has its say. */
#define REFUSED_ABOVE SCMP_ACT_TRACE(0)

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

static int set_attributes(scmp_filter_ctx ctx, uint32_t foreign)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, foreign);

	/* A binary tree: the kernel emulates the filter for every call number when it is loaded. */
	return r < 0 ? r : seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
}

/* Exports to a descriptor, as libseccomp wants it; to a socket, on which a message is whole or not at all, and which no
 * RLIMIT_FSIZE cuts. Returns how many of room instructions there are. */
static ssize_t export_code(scmp_filter_ctx ctx, struct sock_filter *code, size_t room)
{
	int pair[2], r;
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	_cleanup_fd_ int in = pair[0];
	_cleanup_fd_ int out = pair[1];

	if ((r = seccomp_export_bpf(ctx, in)) < 0)
		return r;
	n = recv(out, code, room * sizeof(*code), MSG_TRUNC);
	if (n < 0)
		return -errno;
	return (size_t)n > room * sizeof(*code) ? -E2BIG : n / (ssize_t)sizeof(*code);
}

static int append_export(scmp_filter_ctx ctx, struct compiler *compiler)
{
	ssize_t n =
		export_code(ctx, compiler->code + compiler->len, MAX_INSTRUCTIONS - compiler->len);

	if (n < 0)
		return (int)n;
	compiler->len += (size_t)n;
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
	if ((r = set_attributes(ctx, SCMP_ACT_ERRNO(OTHERS))) < 0)
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

/* Whether a table before this one allows the call whatever its arguments are. */
static bool is_covered(filter_table *const tables[], size_t which, const char *name)
{
	const struct filter_rule *rule;

	for (size_t t = 0; t < which; t++)
		for (size_t i = 0; (rule = tables[t](i)); i++)
			if (!rule->error && is_unconditional(rule) && !strcmp(rule->name, name))
				return true;
	return false;
}

static int add_allowed(scmp_filter_ctx ctx, filter_table *const tables[], size_t which)
{
	const struct filter_rule *rule;

	for (size_t i = 0; (rule = tables[which](i)); i++) {
		int r = rule->error || is_covered(tables, which, rule->name)
				? 0
				: add_rule(ctx, rule, SCMP_ACT_ALLOW, REFUSED_ABOVE);

		if (r < 0)
			return r;
	}
	return 0;
}

/* What fits no table is left to the filters below. */
int filter_compile_confining(filter_table *const tables[], size_t n, struct sock_fprog *filter)
{
	__attribute__((cleanup(cleanup_filter))) scmp_filter_ctx ctx = seccomp_init(REFUSED_ABOVE);
	_cleanup_free_ struct sock_filter *code = calloc(MAX_INSTRUCTIONS, sizeof(*code));
	ssize_t len;
	int r;

	if (!ctx || !code)
		return -ENOMEM;
	if ((r = set_attributes(ctx, REFUSED_ABOVE)) < 0)
		return r;
	for (size_t which = 0; which < n; which++)
		if ((r = add_allowed(ctx, tables, which)) < 0)
			return r;
	if ((len = export_code(ctx, code, MAX_INSTRUCTIONS)) < 0)
		return (int)len;
	filter->len = (unsigned short)len;
	filter->filter = take_ptr(code);
	return 0;
}
