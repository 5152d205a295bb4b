/* fd_count - how many descriptors this process has open: equal before and after means that none leaked. */
#ifndef TESTS_UNIT_FD_COUNT_H
#define TESTS_UNIT_FD_COUNT_H

#include <dirent.h>

static inline int fd_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
