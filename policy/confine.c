/* confine - see the header. */
#include "policy/confine.h"

#include "policy/syscalls.h"

/* From the outermost to the run's. */
static filter_table *const tables[] = {confine_supervisor_rule, confine_worker_rule, syscalls_rule};

#define TABLES (sizeof(tables) / sizeof(*tables))

int confine_supervisor(void)
{
	return filter_confine(tables, TABLES);
}

int confine_worker(void)
{
	return filter_confine(tables + 1, TABLES - 1);
}
