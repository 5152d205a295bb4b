/* secret - takes the token out of the environment into one locked page. */
#include "supervisor/secret.h"

#include <errno.h>
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

/* What cannot be locked (RLIMIT_MEMLOCK) is still kept out of core files and out of children. */
static int keep(const char *token, size_t len)
{
	void *map;

	if (len >= page_size())
		return -E2BIG;
	map = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	(void)mlock(map, page_size());
	if (madvise(map, page_size(), MADV_DONTDUMP) < 0 ||
	    madvise(map, page_size(), MADV_WIPEONFORK) < 0) {
		int error = errno;

		munmap(map, page_size());
		return -error;
	}
	memcpy(map, token, len);
	page = map;
	return 0;
}

/* environ may hold the name twice; getenv would only see the first. */
static int take_entry(char *entry)
{
	char *value = entry + strlen(VARIABLE "=");
	size_t len = strlen(value);
	int r = 0;

	if (len > 0 && page == NULL)
		r = keep(value, len);
	explicit_bzero(value, len);
	return r;
}

int secret_take(void)
{
	int r = 0;

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
		if (strncmp(*entry, VARIABLE "=", strlen(VARIABLE "=")) == 0) {
			int taken = take_entry(*entry);

			r = r < 0 ? r : taken;
		}
	}
	if (unsetenv(VARIABLE) < 0)
		return -errno;
	return r;
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
