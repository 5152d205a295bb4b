/* uses - which modules a Python program seems to import, from its source. Pure.
 *
 * A guess: the worker chooses by it what a program starts from, and a wrong one costs time only. So this reads
 * statements and no grammar, and what a program imports by other means is not found.
 */
#ifndef SUPERVISOR_USES_H
#define SUPERVISOR_USES_H

#include <stdint.h>

#include "common/warm.h"
#include "supervisor/slice.h"

/* The bits (warm_modules_match) of what stands in statements `import a.b as c, d` and `from a.b import c`, wherever one
 * can begin, and in `__import__("a")` and `import_module("a")`; nothing in a comment or a string counts. Any bytes are
 * allowed. Takes time by the length of code, and looks at the first USES_MAX_NAMES names. */
#define USES_MAX_NAMES 1000
uint32_t uses_find(const struct warm_modules *modules, struct slice code);

#endif
