/* warm - which modules an interpreter may have loaded before a program comes, as bits that both programs understand.
 *
 * Both read the operator's list with the function here and come to the same table; so bits alone travel in frames
 * (RUN.uses, WARM.modules). Pure.
 */
#ifndef COMMON_WARM_H
#define COMMON_WARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The modules that are known without a setting. */
#define WARM_KNOWN 3
/* Modules that the operator may name, and bytes of one name with its NUL. */
#define WARM_PRELOADS_MAX 16
#define WARM_MODULES_MAX (WARM_KNOWN + WARM_PRELOADS_MAX)
#define WARM_NAME_BYTES 100

/* A module: what programs call it, and what is imported to have it loaded ("matplotlib" alone loads little). */
struct warm_module {
	char name[WARM_NAME_BYTES];
	char import[WARM_NAME_BYTES];
};

/* The place in at is the number of the bit. Holds no pointer: it may be copied. */
struct warm_modules {
	struct warm_module at[WARM_MODULES_MAX];
	size_t n;
	uint32_t
		always; /* bits of those that the operator named, to be loaded whatever programs use */
};

/* What an operator can say about warm starts. */
struct warm_settings {
	bool on;
	uint32_t idle_s; /* an interpreter that nobody used for so long is ended; at least 1 */
	struct warm_modules modules;
};

/* Makes the table: the known modules (bits 0 numpy, 1 pandas, 2 matplotlib), then those of preload in their order: dotted
 * names of ASCII identifiers, separated by commas or blanks; "" for none. A name that is already there keeps its bit.
 * Returns 0; -EINVAL for what is no such name, -ENAMETOOLONG for one of WARM_NAME_BYTES or more, or -E2BIG for more than
 * WARM_PRELOADS_MAX of the operator's own; then *bad (may be NULL) is where it stands in preload. */
int warm_modules_read(struct warm_modules *modules, const char *preload, const char **bad);

/* The bits of the modules that an import of the dotted name (len bytes) may want: it is the module's name, or lies
 * below it, or above it, as `import b` does for b.c. */
uint32_t warm_modules_match(const struct warm_modules *modules, const char *dotted, size_t len);

/* Writes the names of these bits, separated by commas; "none" for none. What does not fit is left out, and "..." says so. */
#define WARM_LIST_BYTES 256
void warm_modules_list(const struct warm_modules *modules, uint32_t bits,
		       char out[WARM_LIST_BYTES]);

#endif
