/* pages - see the header. Written by hand, since no library has it: /proc/self/maps is read for what is mapped, and
 * /proc/self/pagemap for which pages are there and whose they are (Linux, Documentation/admin-guide/mm/pagemap.rst).
 */
#include "worker/gate/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "policy/privilege.h"

/* Since Linux 5.14; the headers of glibc 2.31 do not have them. madvise(2). */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Of an entry of pagemap: the page is there, is a file's or shared memory, is mapped here alone. */
#define IS_PRESENT (UINT64_C(1) << 63)
#define IS_OF_A_FILE (UINT64_C(1) << 61)
#define IS_OURS (UINT64_C(1) << 56)

#define AREAS_MAX 4096
/* What is larger is reserved rather than used, and a list of its pages would be long. */
#define AREA_BYTES (UINT64_C(1) << 30)
#define SPANS_MAX 8192
#define ENTRIES 512
/* A rehearsal that takes longer is worth nothing. */
#define REHEARSAL_MS 5000

struct span {
	uintptr_t start, end;
	int advice; /* MADV_POPULATE_… */
};

static struct {
	struct span *spans;
	size_t n;
} pages;

/* What is mapped privately and can be read. Returns how many there are. */
static size_t read_areas(struct span areas[AREAS_MAX])
{
	_cleanup_free_ char *line = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");
	size_t n = 0, size = 0;

	while (maps && n < AREAS_MAX && getline(&line, &size, maps) > 0) {
		char mode[5];

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &areas[n].start, &areas[n].end,
			   mode) == 3 &&
		    mode[0] == 'r' && mode[3] == 'p' && areas[n].end - areas[n].start <= AREA_BYTES)
			n++;
	}
	if (maps)
		fclose(maps);
	return n;
}

/* What a copy should ask for so as to have this page, too; 0 for nothing. */
static int advice_of(uint64_t entry)
{
	if (!(entry & IS_PRESENT))
		return 0;
	if (entry & IS_OF_A_FILE)
		return MADV_POPULATE_READ;
	return entry & IS_OURS ? MADV_POPULATE_WRITE : 0;
}

static bool tell(int out, const struct span *span)
{
	return span->start == span->end || write(out, span, sizeof(*span)) == sizeof(*span);
}

/* Tells of the pages of an area, those beside each other as one. */
static bool tell_area(int out, int pagemap, const struct span *area, size_t page)
{
	struct span span = {.advice = 0};
	uint64_t entries[ENTRIES];

	for (uintptr_t at = area->start; at < area->end;) {
		size_t left = (area->end - at) / page, n = left < ENTRIES ? left : ENTRIES;
		off_t where = (off_t)(at / page * sizeof(*entries));

		if (pread(pagemap, entries, n * sizeof(*entries), where) !=
		    (ssize_t)(n * sizeof(*entries)))
			return false;
		for (size_t i = 0; i < n; i++, at += page) {
			int advice = advice_of(entries[i]);

			if (advice != span.advice) {
				if (!tell(out, &span))
					return false;
				span = (struct span){.start = at, .advice = advice};
			}
			span.end = advice ? at + page : span.start;
		}
	}
	return tell(out, &span);
}

/* What was mapped before, since only that is mapped in other copies. */
static _Noreturn void rehearse_and_tell(void (*rehearse)(void), int out)
{
	static struct span areas[AREAS_MAX];
	size_t n = read_areas(areas), page = (size_t)sysconf(_SC_PAGESIZE);
	int pagemap;

	rehearse();
	/* The kernel keeps it from whoever cannot be dumped. proc(5). */
	if (privilege_dumpable() < 0)
		_exit(1);
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; pagemap >= 0 && i < n; i++)
		if (!tell_area(out, pagemap, &areas[i], page))
			break;
	_exit(0);
}

/* Takes what it tells until it has ended, or takes too long. */
static void listen_to(int in, pid_t child)
{
	struct pollfd event = {.fd = in, .events = POLLIN};

	free(pages.spans);
	pages.n = 0;
	pages.spans = malloc(SPANS_MAX * sizeof(*pages.spans));
	while (pages.spans && pages.n < SPANS_MAX && poll(&event, 1, REHEARSAL_MS) > 0 &&
	       read(in, &pages.spans[pages.n], sizeof(*pages.spans)) == sizeof(*pages.spans))
		pages.n++;
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Older kernels do not know the advice. */
static bool can_populate(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t here = (uintptr_t)&page & ~(uintptr_t)(page - 1);

	return madvise((void *)here, page, MADV_POPULATE_READ) == 0;
}

void pages_learn(void (*rehearse)(void))
{
	int ends[2];
	pid_t child;

	if (!can_populate() || pipe2(ends, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0)
		rehearse_and_tell(rehearse, ends[1]);
	close(ends[1]);
	if (child > 0)
		listen_to(ends[0], child);
	close(ends[0]);
}

void pages_take(void)
{
	for (size_t i = 0; i < pages.n; i++) {
		const struct span *span = &pages.spans[i];

		/* What has been unmapped since, or cannot be populated, is no loss. */
		(void)madvise((void *)span->start, span->end - span->start, span->advice);
	}
}
