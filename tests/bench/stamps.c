/* stamps - see the header. */
#include "tests/bench/stamps.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

int64_t stamp_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void stamps_tell(const struct stamp *stamps, size_t n)
{
	char line[512] = "stamps";
	size_t len = sizeof("stamps") - 1;

	for (size_t i = 0; i < n && len < sizeof(line) - 64; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, " %.32s=%lld",
					stamps[i].name, (long long)stamps[i].ns);
	line[len++] = '\n';
	/* A line that is lost is missed by its reader. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}
