/* Unit tests of compiling a table: both filters of the run's table, interpreted, must say what filter_verdict says. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "policy/syscalls.h"

#define X32_BIT 0x40000000

static bool jumps(const struct sock_filter *code, uint32_t a)
{
	switch (BPF_OP(code->code)) {
	case BPF_JEQ:
		return a == code->k;
	case BPF_JGT:
		return a > code->k;
	case BPF_JGE:
		return a >= code->k;
	case BPF_JSET:
		return a & code->k;
	default:
		fail_msg("jump %#x", code->code);
		return false;
	}
}

/* What a filter returns for a call: an interpreter for the instructions that seccomp filters have. */
static uint32_t interpret(const struct sock_fprog *filter, const struct seccomp_data *call)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < filter->len; pc++) {
		const struct sock_filter *code = &filter->filter[pc];

		if (code->code == (BPF_LD | BPF_W | BPF_ABS))
			memcpy(&a, (const char *)call + code->k, sizeof(a));
		else if (code->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= code->k;
		else if (code->code == (BPF_RET | BPF_K))
			return code->k;
		else if (code->code == (BPF_JMP | BPF_JA))
			pc += code->k;
		else if (BPF_CLASS(code->code) == BPF_JMP)
			pc += jumps(code, a) ? code->jt : code->jf;
		else
			fail_msg("instruction %zu: %#x", pc, code->code);
	}
	fail_msg("ran off the end");
	return 0;
}

struct filters {
	struct sock_fprog plain;
	struct sock_fprog noting; /* none where the kernel knows no notes */
	size_t judged;
};

static int setup(void **state)
{
	struct filters *filters = calloc(1, sizeof(*filters));

	*state = filters;
	if (filter_compile(syscalls_rule, &filters->plain))
		return -1;
	filter_compile_noting(syscalls_rule, &filters->noting);
	return 0;
}

static int teardown(void **state)
{
	struct filters *filters = *state;

	free(filters->plain.filter);
	free(filters->noting.filter);
	free(filters);
	return 0;
}

static uint32_t errno_action(int error)
{
	return SECCOMP_RET_ERRNO | (uint32_t)error;
}

static void judge(struct filters *filters, const struct seccomp_data *call)
{
	int error = filter_verdict(syscalls_rule, call->nr, call->args);
	uint32_t wanted = error ? errno_action(error) : SECCOMP_RET_ALLOW;
	uint32_t plain = interpret(&filters->plain, call);
	uint32_t noting = filters->noting.filter ? interpret(&filters->noting, call) : wanted;

	if (plain != wanted)
		fail_msg("call %d, %#llx %#llx %#llx: the filter says %#x, the table %d", call->nr,
			 call->args[0], call->args[1], call->args[2], plain, error);
	if (noting != wanted && (noting != SECCOMP_RET_USER_NOTIF || !error))
		fail_msg("call %d: the noting filter says %#x", call->nr, noting);
	filters->judged++;
}

static const unsigned long long interesting[] = {
	0,	    1,		2,	    3,		5,	6,	  10,
	16,	    17,		40,	    0x3ff,	0x400,	0x401,	  0x402,
	0x406,	    0x5401,	0x5402,	    0x5412,	0x541c, FIONREAD, 0x40049409,
	0x02000000, 0x10000000, 0x7fffffff, 0xffffffff, ~0ULL,
};

#define INTERESTING (sizeof(interesting) / sizeof(*interesting))

/* With every argument alike. */
static void test_all_numbers_with_simple_arguments(void **state)
{
	struct filters *filters = *state;

	for (int nr = -1; nr < 1100; nr++)
		for (size_t v = 0; v < INTERESTING; v++) {
			struct seccomp_data call = {.nr = nr, .arch = seccomp_arch_native()};

			for (size_t i = 0; i < FILTER_ARGS; i++)
				call.args[i] = interesting[v];
			judge(filters, &call);
		}
	assert_true(filters->judged >= 1100 * INTERESTING);
}

/* Judges the call as it is, and with each single bit of this argument turned. Returns how often. */
static size_t judge_around(struct filters *filters, struct seccomp_data *call, unsigned int arg)
{
	judge(filters, call);
	for (unsigned int bit = 0; bit < 64; bit++) {
		call->args[arg] ^= 1ULL << bit;
		judge(filters, call);
		call->args[arg] ^= 1ULL << bit;
	}
	return 65;
}

static void test_every_condition_is_met_and_missed_by_a_bit(void **state)
{
	struct filters *filters = *state;
	const struct filter_rule *rule;
	size_t judged = 0;

	for (size_t i = 0; (rule = syscalls_rule(i)); i++) {
		struct seccomp_data call = {.nr = seccomp_syscall_resolve_name(rule->name),
					    .arch = seccomp_arch_native()};

		for (size_t k = 0; k < FILTER_CONDITIONS; k++)
			call.args[rule->conditions[k].arg] |= rule->conditions[k].value;
		for (size_t k = 0; call.nr >= 0 && k < FILTER_CONDITIONS; k++)
			judged += judge_around(filters, &call, rule->conditions[k].arg);
	}
	assert_true(judged > 10000);
}

static void test_quiet_refusals_make_no_note_and_others_do(void **state)
{
	struct filters *filters = *state;
	struct seccomp_data quiet = {.nr = SYS_clone3, .arch = seccomp_arch_native()};
	struct seccomp_data noted = {.nr = SYS_keyctl, .arch = seccomp_arch_native()};
	struct seccomp_data unlisted = {.nr = SYS_acct, .arch = seccomp_arch_native()};
	struct seccomp_data terminal = {
		.nr = SYS_ioctl, .arch = seccomp_arch_native(), .args = {0, TIOCSTI}};
	struct seccomp_data unknown = {
		.nr = SYS_ioctl, .arch = seccomp_arch_native(), .args = {0, TIOCEXCL}};
	struct seccomp_data raw = {
		.nr = SYS_socket, .arch = seccomp_arch_native(), .args = {AF_INET, SOCK_RAW}};

	if (!filters->noting.filter)
		skip();
	assert_int_equal(interpret(&filters->noting, &quiet), errno_action(ENOSYS));
	assert_int_equal(interpret(&filters->noting, &unknown), errno_action(ENOTTY));
	assert_int_equal(interpret(&filters->noting, &terminal), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(interpret(&filters->noting, &noted), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(interpret(&filters->noting, &unlisted), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(interpret(&filters->noting, &raw), SECCOMP_RET_USER_NOTIF);
}

static void test_foreign_abis_are_refused_without_a_note(void **state)
{
	struct filters *filters = *state;

	for (int nr = 0; nr < 600; nr++) {
		struct seccomp_data foreign = {.nr = nr, .arch = AUDIT_ARCH_S390};

		assert_int_equal(interpret(&filters->plain, &foreign), errno_action(ENOSYS));
		foreign.arch = AUDIT_ARCH_I386;
		assert_int_equal(interpret(&filters->plain, &foreign), errno_action(ENOSYS));
		if (filters->noting.filter)
			assert_int_equal(interpret(&filters->noting, &foreign),
					 errno_action(ENOSYS));
#ifdef __x86_64__
		foreign.arch = seccomp_arch_native();
		foreign.nr = nr | X32_BIT;
		assert_int_equal(interpret(&filters->plain, &foreign), errno_action(ENOSYS));
		if (filters->noting.filter)
			assert_int_equal(interpret(&filters->noting, &foreign),
					 errno_action(ENOSYS));
#endif
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_numbers_with_simple_arguments),
		cmocka_unit_test(test_every_condition_is_met_and_missed_by_a_bit),
		cmocka_unit_test(test_quiet_refusals_make_no_note_and_others_do),
		cmocka_unit_test(test_foreign_abis_are_refused_without_a_note),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
