/* secret - takes the token out of the environment, or out of a file, into one locked page. */
#include "supervisor/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/printable.h"

#define VARIABLE "MCP_EXEC_AUTH_TOKEN"
#define FILE_VARIABLE "MCP_EXEC_AUTH_TOKEN_FILE (--auth-token-file)"
#define CREDENTIAL "mcp-exec-auth-token"
/* Fits into a page of every machine, and into the head of a request. */
#define TOKEN_MAX 4095
_Static_assert(TOKEN_MAX == 4095, "sentences have the number");

static char *page; /* NULL: no token */
static size_t length;

/* Where the token is looked for, and how a sentence names that place. */
struct source {
	char path[PATH_MAX];
	char name[PATH_MAX];
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* What cannot be locked (RLIMIT_MEMLOCK) is still kept out of core files and out of children. Returns NULL when that
 * cannot be had. */
static char *map_page(void)
{
	char *map =
		mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	(void)mlock(map, page_size());
	if (madvise(map, page_size(), MADV_DONTDUMP) < 0 ||
	    madvise(map, page_size(), MADV_WIPEONFORK) < 0) {
		munmap(map, page_size());
		return NULL;
	}
	return map;
}

static enum secret_state keep(const char *token, size_t len)
{
	if (len > TOKEN_MAX)
		return SECRET_UNUSABLE;
	page = map_page();
	if (page == NULL)
		return SECRET_UNUSABLE;
	memcpy(page, token, len);
	length = len;
	return SECRET_KEPT;
}

/* environ may hold the name twice; getenv would only see the first. */
static enum secret_state take_entry(char *entry, enum secret_state state)
{
	char *value = entry + strlen(VARIABLE "=");
	size_t len = strlen(value);

	if (len > 0 && state == SECRET_NONE)
		state = keep(value, len);
	explicit_bzero(value, len);
	return state;
}

enum secret_state secret_take(void)
{
	enum secret_state state = SECRET_NONE;

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		if (strncmp(*entry, VARIABLE "=", strlen(VARIABLE "=")) == 0)
			state = take_entry(*entry, state);
	/* It can only fail for a name that is none. */
	(void)unsetenv(VARIABLE);
	return state;
}

/* Takes off one newline, and looks at what is left. name: where it came from, for the sentence. */
static int accept_token(const char *name, char *error, size_t size)
{
	const char *wrong = NULL;

	if (length > 0 && page[length - 1] == '\n')
		length -= length > 1 && page[length - 2] == '\r' ? 2 : 1;
	for (size_t i = 0; i < length; i++)
		if (page[i] < '!' || page[i] > '~')
			wrong = "holds a blank, a control character or a letter beyond ASCII";
	if (length > TOKEN_MAX)
		wrong = "is longer than 4095 bytes";
	if (length == 0)
		wrong = "is empty";
	if (wrong == NULL)
		return 0;
	secret_forget();
	snprintf(error, size,
		 "The token in %s %s; it must be 1 to 4095 printable ASCII characters without a "
		 "blank, and one newline may follow.",
		 name, wrong);
	return -EINVAL;
}

/* The file is read into the page itself: there is no other buffer to be wiped. */
static int read_file(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	page = map_page();
	if (page == NULL)
		return -ENOMEM;
	n = fds_read_all(fd, page, TOKEN_MAX + 1);
	if (n < 0) {
		secret_forget();
		return (int)n;
	}
	length = (size_t)n;
	return 0;
}

static int settle_file(const struct source *source, char *error, size_t size)
{
	int r = read_file(source->path);

	if (r == 0)
		return accept_token(source->name, error, size);
	if (r == -EFBIG)
		snprintf(error, size,
			 "The token in %s is longer than 4095 bytes; it must be a file with the "
			 "token alone.",
			 source->name);
	else
		snprintf(error, size,
			 "The token cannot be read from %s: %s; it must be a file that can be read "
			 "at the start.",
			 source->name, strerror(-r));
	return -EINVAL;
}

/* A value that is no full path may be the token itself in the wrong variable: so it is not shown. */
static void name_file(struct source *source, const char *file)
{
	char shown[128];

	if (file[0] == '/')
		snprintf(source->name, sizeof(source->name), "%s, " FILE_VARIABLE,
			 printable_copy(shown, sizeof(shown), file, strlen(file)));
	else
		snprintf(source->name, sizeof(source->name), "what " FILE_VARIABLE " names");
}

static bool find_credential(struct source *source, const char *credential)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");
	int len;

	if (directory == NULL || *directory == '\0')
		return false;
	len = snprintf(source->path, sizeof(source->path), "%s/%s", directory, credential);
	return len > 0 && (size_t)len < sizeof(source->path);
}

static int settle_named(const char *file, char *error, size_t size)
{
	struct source source;

	name_file(&source, file);
	if (strchr(file, '/') != NULL) {
		snprintf(source.path, sizeof(source.path), "%s", file);
		return settle_file(&source, error, size);
	}
	if (find_credential(&source, file))
		return settle_file(&source, error, size);
	snprintf(error, size,
		 FILE_VARIABLE " has no \"/\", so it names a credential of systemd, and there are "
			       "none: CREDENTIALS_DIRECTORY is not set; for a file, write its full "
			       "path.");
	return -EINVAL;
}

static int settle_default(char *error, size_t size)
{
	struct source source = {.name = "the credential " CREDENTIAL};

	if (!find_credential(&source, CREDENTIAL) ||
	    (access(source.path, F_OK) < 0 && errno == ENOENT))
		return 0;
	return settle_file(&source, error, size);
}

int secret_settle(enum secret_state taken, const char *file, char *error, size_t error_size)
{
	if (taken != SECRET_NONE && file != NULL) {
		secret_forget();
		snprintf(error, error_size,
			 VARIABLE " and " FILE_VARIABLE
				  " are both set, and only one can be meant; set one of them.");
		return -EINVAL;
	}
	if (taken == SECRET_UNUSABLE) {
		snprintf(error, error_size,
			 "The token in " VARIABLE " cannot be kept: it is longer than 4095 bytes, "
			 "or no memory can be had for it.");
		return -EINVAL;
	}
	if (taken == SECRET_KEPT)
		return accept_token(VARIABLE, error, error_size);
	if (file != NULL)
		return settle_named(file, error, error_size);
	return settle_default(error, error_size);
}

bool secret_present(void)
{
	return page != NULL;
}

/* Each byte is looked at, whatever the others were, and the differences are gathered by "or": no branch and no address
 * depends on a byte. Through volatile the compiler must make every one of these accesses, so it cannot stop at the first
 * difference, and glibc has no timingsafe_bcmp(3). */
bool secret_matches(const char *data, size_t len)
{
	const volatile char *ours = page, *theirs = data;
	volatile unsigned char different = 0;

	if (page == NULL || len != length)
		return false;
	for (size_t i = 0; i < len; i++)
		different |= (unsigned char)(ours[i] ^ theirs[i]);
	return different == 0;
}

void secret_forget(void)
{
	if (page == NULL)
		return;
	explicit_bzero(page, page_size());
	munmap(page, page_size());
	page = NULL;
	length = 0;
}
