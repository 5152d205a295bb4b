/* secret - takes the token out of the environment into one locked page. */
#include "supervisor/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIABLE "MCP_EXEC_AUTH_TOKEN"

static char *page; /* NULL: no token */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A token that does not fit into the page, or that no page can be had for, is not kept. What cannot be locked
 * (RLIMIT_MEMLOCK) is still kept out of core files and out of children. */
static void keep(const char *token, size_t len)
{
	void *map;

	if (len >= page_size())
		return;
	map = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return;
	(void)mlock(map, page_size());
	if (madvise(map, page_size(), MADV_DONTDUMP) < 0 ||
	    madvise(map, page_size(), MADV_WIPEONFORK) < 0) {
		munmap(map, page_size());
		return;
	}
	memcpy(map, token, len);
	page = map;
}

/* environ may hold the name twice; getenv would only see the first. */
static void take_entry(char *entry)
{
	char *value = entry + strlen(VARIABLE "=");
	size_t len = strlen(value);

	if (len > 0 && page == NULL)
		keep(value, len);
	explicit_bzero(value, len);
}

void secret_take(void)
{
	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		if (strncmp(*entry, VARIABLE "=", strlen(VARIABLE "=")) == 0)
			take_entry(*entry);
	/* It can only fail for a name that is none. */
	(void)unsetenv(VARIABLE);
}

bool secret_present(void)
{
	return page != NULL;
}

void secret_forget(void)
{
	if (page == NULL)
		return;
	explicit_bzero(page, page_size());
	munmap(page, page_size());
	page = NULL;
}
