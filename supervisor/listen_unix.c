/* listen_unix - theory of operation
 *
 * The mode is right from the start, by the umask: between bind(2) and a chmod anybody could connect. What lies at the
 * path is only removed when it is a socket, was made by somebody whom we are or become, and nobody listens on it. The
 * file is given away through a descriptor that was seen to be our socket, for a path in a directory of another user may
 * name something else by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/printable.h"
#include "supervisor/harden.h"
#include "supervisor/listen_internal.h"

#define NOT_OWNER_AND_GROUP 0117

struct place {
	struct sockaddr_un address;
	uid_t uid; /* whom we become */
	gid_t gid;
	char *error;
	size_t error_size;
};

static int refuse(const struct place *place, int r, const char *why)
{
	char shown[128];
	const char *path = place->address.sun_path;

	snprintf(place->error, place->error_size,
		 "unix:%s cannot be listened on (MCP_EXEC_ADDR, --addr): %s.",
		 printable_copy(shown, sizeof(shown), path, strlen(path)), why);
	return r;
}

static int unix_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* 0 when somebody listens there, or a negative errno. */
static int try_connect(const struct place *place)
{
	_cleanup_fd_ int fd = unix_socket();

	if (fd < 0)
		return fd;
	return connect(fd, (const struct sockaddr *)&place->address, sizeof(place->address)) < 0
		       ? -errno
		       : 0;
}

/* EAGAIN: more clients wait there than that server takes. */
static int remove_stale(const struct place *place)
{
	const char *path = place->address.sun_path;
	struct stat status;
	int r;

	if (lstat(path, &status) < 0)
		return refuse(place, -errno, strerror(errno));
	if (!S_ISSOCK(status.st_mode))
		return refuse(place, -EEXIST,
			      "what lies there is no socket, and is left alone; remove it, or "
			      "choose another path");
	if (status.st_uid != geteuid() && status.st_uid != 0 && status.st_uid != place->uid)
		return refuse(place, -EEXIST,
			      "the socket that lies there belongs to another user, and is left "
			      "alone; choose another path");
	r = try_connect(place);
	if (r == 0 || r == -EAGAIN)
		return refuse(place, -EADDRINUSE,
			      "another server listens there; end it, or choose another path");
	if (r != -ECONNREFUSED)
		return refuse(place, r,
			      "whether somebody listens on the socket that lies there cannot be "
			      "found out; remove it, or choose another path");
	return unlink(path) < 0 ? refuse(place, -errno, strerror(errno)) : 0;
}

static int bind_private(const struct place *place, int fd)
{
	mode_t before = umask(NOT_OWNER_AND_GROUP);
	int r = bind(fd, (const struct sockaddr *)&place->address, sizeof(place->address));
	int error = errno;

	umask(before);
	return r < 0 ? -error : 0;
}

static int refuse_bind(const struct place *place, int r)
{
	if (r == -ENOENT || r == -ENOTDIR)
		return refuse(place, r, "its directory is not there; make it first");
	if (r == -EACCES || r == -EPERM || r == -EROFS)
		return refuse(place, r,
			      "this user may not write to its directory; start as root, let "
			      "systemd open it, or choose another path");
	return refuse(place, r, strerror(-r));
}

static int bind_socket(const struct place *place, int fd)
{
	int r = bind_private(place, fd);

	if (r == -EADDRINUSE) {
		r = remove_stale(place);
		if (r < 0)
			return r;
		r = bind_private(place, fd);
	}
	return r < 0 ? refuse_bind(place, r) : 0;
}

/* Notes which file it is. */
static int hand_to_user(const struct place *place, struct listener *listener)
{
	_cleanup_fd_ int file = open(place->address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (file < 0 || fstat(file, &status) < 0)
		return -errno;
	if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid() || status.st_nlink != 1)
		return -EBUSY;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	listener->made = true;
	if (geteuid() == 0 && fchownat(file, "", place->uid, place->gid, AT_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

static int open_at(struct listeners *listeners, const struct place *place)
{
	_cleanup_fd_ int fd = unix_socket();
	struct listener *listener;
	int r;

	if (fd < 0)
		return refuse(place, fd, strerror(-fd));
	if (listeners->count == MAX_LISTENERS)
		return refuse(place, -EINVAL, LISTEN_TOO_MANY);
	r = bind_socket(place, fd);
	if (r < 0)
		return r;
	listener = listeners_add(listeners, fd);
	if (listener == NULL)
		return refuse(place, -EIO, "it has no name");
	(void)take_fd(&fd);
	r = hand_to_user(place, listener);
	if (r == 0 && listen(listener->fd, LISTEN_BACKLOG) < 0)
		r = -errno;
	return r < 0 ? refuse(place, r, strerror(-r)) : 0;
}

int listen_unix(struct listeners *listeners, const char *path, const char *user, char *error,
		size_t error_size)
{
	struct place place = {
		.address.sun_family = AF_UNIX, .error = error, .error_size = error_size};
	int r = harden_identity(user, &place.uid, &place.gid, error, error_size);

	if (r < 0)
		return -EINVAL;
	snprintf(place.address.sun_path, sizeof(place.address.sun_path), "%s", path);
	return open_at(listeners, &place);
}
