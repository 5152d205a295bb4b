/* describe - see the header. */
#include "policy/describe.h"

#include <stdbool.h>
#include <string.h>

#include "common/layers.h"
#include "policy/cgroup.h"
#include "policy/confine.h"
#include "policy/environment.h"
#include "policy/landlock.h"
#include "policy/namespaces.h"
#include "policy/rlimits.h"
#include "policy/syscalls.h"
#include "policy/view.h"

static void describe_layers(FILE *out)
{
	fprintf(out, "# layers\n");
	for (unsigned int i = 0; i < LAYER_COUNT; i++) {
		const struct layer_info *layer = layer_info(i);

		fprintf(out, "%-18s %-9s %s\n", layer->name,
			layer->required ? "required" : "optional", layer->what);
	}
}

static void describe_namespaces(FILE *out)
{
	const struct namespace_rule *rule;

	fprintf(out, "\n# namespaces\n");
	for (size_t i = 0; (rule = namespaces_rule(i)); i++)
		fprintf(out, "%-8s %s\n", rule->name, rule->why);
}

static const char *view_word(enum view_kind kind)
{
	static const char *const words[] = {
		[VIEW_SYSTEM] = "read-only", [VIEW_DEVICE] = "device", [VIEW_LINK] = "link",
		[VIEW_FILE] = "made up",     [VIEW_MASK] = "masked",
	};

	return words[kind];
}

static void describe_view(FILE *out)
{
	const struct view_rule *rule;

	fprintf(out, "\n# view\n");
	for (size_t i = 0; (rule = view_rule(i)); i++)
		fprintf(out, "%-10s %-34s %s\n", view_word(rule->kind), rule->path, rule->why);
	fprintf(out, "%-10s %-34s %s\n", "writable", SANDBOX_HOME " /tmp /var/tmp /dev/shm",
		"the workspace: one tmpfs, noexec, nosuid, nodev");
	fprintf(out, "%-10s %-34s %s\n", "fresh", "/proc", "its own processes, read-only");
}

static void describe_landlock(FILE *out)
{
	const struct landlock_rule *rule;
	const char *name;

	fprintf(out, "\n# landlock (what is not listed is refused)\n");
	for (size_t i = 0; (rule = landlock_rule(i)); i++) {
		fprintf(out, "%-50s %s:", rule->where, rule->why);
		for (unsigned int bit = 0; (name = landlock_right_name(bit)); bit++)
			if (rule->rights >> bit & 1)
				fprintf(out, " %s", name);
		fputc('\n', out);
	}
}

static void describe_limits(FILE *out, const struct limits *limits)
{
	fprintf(out, "\n# limits of a run as a whole\n");
	fprintf(out,
		"%-16s %12llu  bytes of all processes together, by cgroup or by looking every few "
		"ms\n",
		"memory", (unsigned long long)limits->memory_bytes);
	fprintf(out, "%-16s %12llu  bytes of all that it can write, by the size of its tmpfs\n",
		"workspace", (unsigned long long)limits->tmp_bytes);
	fprintf(out, "%-16s %12llu  files, directories and links in it\n", "inodes",
		(unsigned long long)(limits->tmp_bytes / TMP_BYTES_PER_INODE));
	fprintf(out, "%-16s %12u  at once, by affinity and cgroup\n", "cpus", limits->cpus);
	fprintf(out, "%-16s %12s  wall clock and bytes printed: settings of the server\n",
		"time, output", "per call");
}

static void describe_rlimits(FILE *out, const struct limits *limits)
{
	const struct rlimit_rule *rule;

	fprintf(out, "\n# rlimits\n");
	for (size_t i = 0; (rule = rlimits_rule(i)); i++) {
		struct rlimit value = rlimits_value(i, limits);

		fprintf(out, "%-11s %12llu %12llu  %s\n", rule->name,
			(unsigned long long)value.rlim_cur, (unsigned long long)value.rlim_max,
			rule->why);
	}
}

static void describe_cgroup(FILE *out, const struct limits *limits)
{
	const struct cgroup_rule *rule;
	char value[CGROUP_VALUE_BYTES];

	fprintf(out, "\n# cgroup of a run, where the server has one to divide\n");
	for (size_t i = 0; (rule = cgroup_rule(i)); i++) {
		cgroup_value(i, limits, value);
		fprintf(out, "%-17s %-15s %s\n", rule->file, value, rule->why);
	}
}

static void describe_environment(FILE *out)
{
	const struct environment_rule *rule;

	fprintf(out, "\n# environment\n");
	for (size_t i = 0; (rule = environment_rule(i)); i++)
		fprintf(out, "%-30s %-18s %s\n", rule->name,
			rule->value ? rule->value : "(computed)", rule->why);
}

static void describe_condition(FILE *out, const struct filter_condition *condition)
{
	switch (condition->compare) {
	case FILTER_EQUAL:
		fprintf(out, " arg%u==%#llx", condition->arg, condition->value);
		break;
	case FILTER_MASKED:
		fprintf(out, " arg%u&%#llx==%#llx", condition->arg, condition->mask,
			condition->value);
		break;
	case FILTER_GREATER:
		fprintf(out, " arg%u>%#llx", condition->arg, condition->value);
		break;
	case FILTER_ANY:
		break;
	}
}

static void describe_row(FILE *out, const struct filter_rule *rule)
{
	fprintf(out, "%-20s %-15s %-5s", rule->name,
		rule->error ? strerrorname_np(rule->error) : "allow", rule->quiet ? "quiet" : "");
	for (size_t k = 0; k < FILTER_CONDITIONS; k++)
		describe_condition(out, &rule->conditions[k]);
	fprintf(out, "  %s\n", rule->why);
}

static void describe_own(FILE *out, const char *title, filter_table *table)
{
	const struct filter_rule *rule;

	fprintf(out, "\n# %s (all others: ENOSYS)\n", title);
	for (size_t i = 0; (rule = table(i)); i++)
		describe_row(out, rule);
}

/* Counts names, not rows: a call with conditions has a row for each. */
static bool is_first_allowed(size_t row)
{
	const struct filter_rule *rule = syscalls_rule(row);

	if (rule->error)
		return false;
	for (size_t i = 0; i < row; i++)
		if (!syscalls_rule(i)->error && !strcmp(syscalls_rule(i)->name, rule->name))
			return false;
	return true;
}

static void describe_syscalls(FILE *out)
{
	const struct filter_rule *rule;
	size_t allowed = 0;

	fprintf(out, "\n# system calls: the first row that fits decides; all others: ENOSYS. A "
		     "failed result names those refused, but for the quiet\n");
	for (size_t i = 0; (rule = syscalls_rule(i)); i++) {
		describe_row(out, rule);
		allowed += is_first_allowed(i);
	}
	fprintf(out, "# %zu system calls are allowed, some only with the arguments named\n",
		allowed);
}

void describe_policy(FILE *out, const struct limits *limits)
{
	describe_layers(out);
	describe_namespaces(out);
	describe_view(out);
	describe_landlock(out);
	describe_limits(out, limits);
	describe_rlimits(out, limits);
	describe_cgroup(out, limits);
	describe_environment(out);
	describe_own(out, "the supervisor's own system calls, beside those of the worker",
		     confine_supervisor_rule);
	describe_own(out, "the worker's own system calls, beside those of a pristine interpreter",
		     confine_worker_rule);
	describe_own(out, "a pristine interpreter's own system calls, beside those of a run",
		     confine_pristine_rule);
	describe_syscalls(out);
}
