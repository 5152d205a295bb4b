/* loopback - rtnetlink through libnl. rtnetlink(7). The only user of its headers. */
#include "worker/loopback.h"

#include <errno.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <string.h>
#include <sys/socket.h>

static void cleanup_socket(struct nl_sock **sock)
{
	if (*sock)
		nl_socket_free(*sock);
}

static void cleanup_link(struct rtnl_link **link)
{
	if (*link)
		rtnl_link_put(*link);
}

static void cleanup_cache(struct nl_cache **cache)
{
	if (*cache)
		nl_cache_free(*cache);
}

/* libnl has numbers of its own; only these can come from what is asked here. */
static int errno_of(int nl)
{
	switch (-nl) {
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_OBJ_NOTFOUND:
	case NLE_NODEV:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static int set_up(struct nl_sock *sock, struct nl_cache *cache)
{
	__attribute__((cleanup(cleanup_link))) struct rtnl_link *lo =
		rtnl_link_get_by_name(cache, "lo");
	__attribute__((cleanup(cleanup_link))) struct rtnl_link *change = rtnl_link_alloc();
	int r;

	if (!lo)
		return -ENODEV;
	if (!change)
		return -ENOMEM;
	rtnl_link_set_flags(change, IFF_UP);
	r = rtnl_link_change(sock, lo, change, 0);
	return r < 0 ? errno_of(r) : 0;
}

static int check_alone(struct nl_cache *cache)
{
	for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
		struct rtnl_link *link = (struct rtnl_link *)o;

		if (strcmp(rtnl_link_get_name(link), "lo") && rtnl_link_get_flags(link) & IFF_UP)
			return -ENOTUNIQ;
	}
	return 0;
}

int loopback_up(void)
{
	__attribute__((cleanup(cleanup_socket))) struct nl_sock *sock = nl_socket_alloc();
	__attribute__((cleanup(cleanup_cache))) struct nl_cache *cache = NULL;
	int r;

	if (!sock)
		return -ENOMEM;
	if ((r = nl_connect(sock, NETLINK_ROUTE)) < 0 ||
	    (r = rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache)) < 0)
		return errno_of(r);
	return (r = check_alone(cache)) < 0 ? r : set_up(sock, cache);
}
