/* confine - see the header. */
#include "policy/confine.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "policy/syscalls.h"

/* From the outermost to the run's. */
static filter_table *const tables[] = {confine_supervisor_rule, confine_worker_rule,
				       confine_pristine_rule, syscalls_rule};

enum { FROM_SUPERVISOR, FROM_WORKER, FROM_PRISTINE, TABLES = sizeof(tables) / sizeof(*tables) };

static int confine(size_t from)
{
	struct sock_fprog filter = {.filter = NULL};
	int r = filter_compile_confining(tables + from, TABLES - from, &filter);
	_cleanup_free_ struct sock_filter *code = filter.filter;

	/* What is freed at the end is still needed here. */
	(void)code;
	return r < 0 ? r : filter_apply(&filter);
}

int confine_supervisor(void)
{
	return confine(FROM_SUPERVISOR);
}

int confine_worker(void)
{
	return confine(FROM_WORKER);
}

int confine_compile_pristine(struct sock_fprog *filter)
{
	return filter_compile_confining(tables + FROM_PRISTINE, TABLES - FROM_PRISTINE, filter);
}
