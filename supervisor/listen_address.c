/* listen_address - host, port and path, and the right spelling for those who left something out. */
#include "supervisor/listen_address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "common/printable.h"

#define SEPARATORS ", \t"
#define PATH_PREFIX "unix:"
#define DIGITS "0123456789"
#define FORMS "it must be :PORT, HOST:PORT, [IPV6]:PORT or unix:/PATH"
#define HOST_MAX 253 /* RFC 1035, 2.3.4: 255 octets on the wire */
#define SHOWN 80

struct item {
	const char *text;
	size_t len;
	char *error;
	size_t error_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct item *item, const char *format,
							...)
{
	char shown[SHOWN];
	va_list args;
	int len = snprintf(item->error, item->error_size, "MCP_EXEC_ADDR (--addr) has \"%s\": ",
			   printable_copy(shown, sizeof(shown), item->text, item->len));

	if (len < 0 || (size_t)len >= item->error_size)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(item->error + len, item->error_size - (size_t)len, format, args);
	va_end(args);
	return -EINVAL;
}

static int parse_port(const struct item *item, const char *text, size_t len, uint16_t *port)
{
	unsigned int number = 0;
	bool good = len > 0;

	for (size_t i = 0; i < len && good; i++) {
		number = number * 10 + (unsigned int)(text[i] - '0');
		good = isdigit((unsigned char)text[i]) && number <= UINT16_MAX;
	}
	if (!good)
		return refuse(item, "behind the last \":\" must stand a port, a number from 0 to "
				    "65535.");
	*port = (uint16_t)number;
	return 1;
}

static int parse_path(const struct item *item, struct listen_address *address)
{
	const char *path = item->text + strlen(PATH_PREFIX);
	size_t len = item->len - strlen(PATH_PREFIX);
	size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (len < 2 || path[0] != '/')
		return refuse(item, "behind \"" PATH_PREFIX "\" must stand a full path, which "
				    "starts with \"/\".");
	if (len > max)
		return refuse(item, "the path has %zu bytes, and that of a socket may have %zu.",
			      len, max);
	memcpy(address->text, path, len);
	address->kind = LISTEN_PATH;
	return 1;
}

static bool is_ipv6(const char *text)
{
	char bare[INET6_ADDRSTRLEN];
	struct in6_addr binary;
	size_t len = strcspn(text, "%");
	size_t scope = text[len] == '%' ? strlen(text) - len - 1 : 1;

	if (len >= sizeof(bare) || scope == 0 || scope >= IF_NAMESIZE)
		return false;
	memcpy(bare, text, len);
	bare[len] = '\0';
	return inet_pton(AF_INET6, bare, &binary) == 1;
}

static int parse_bracket(const struct item *item, struct listen_address *address)
{
	const char *end = memchr(item->text, ']', item->len);
	size_t len = end != NULL ? (size_t)(end - item->text) - 1 : 0;
	size_t behind = item->len - len - 2;

	if (end == NULL || len >= sizeof(address->text))
		return refuse(item, "the \"]\" is missing; write it like [::1]:8080.");
	memcpy(address->text, item->text + 1, len);
	if (!is_ipv6(address->text))
		return refuse(item, "between the brackets must stand an IPv6 address, as in "
				    "[::1]:8080 or [fe80::1%%eth0]:8080.");
	if (behind == 0)
		return refuse(item, "the port is missing; write it like [%s]:8080.", address->text);
	if (end[1] != ':')
		return refuse(item, "behind the \"]\" must stand a \":\" and the port.");
	address->kind = LISTEN_BRACKET;
	return parse_port(item, end + 2, behind - 1, &address->port);
}

/* What looks like a number must be an address as people write it; getaddrinfo(3) would take 127.1 and even 1. */
static int check_host(const struct item *item, const char *host)
{
	struct in_addr binary;

	for (const char *p = host; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr(".-_", *p) == NULL)
			return refuse(item, "this is no name of a host; " FORMS ".");
	if (*host != '\0' && strspn(host, DIGITS ".") == strlen(host) &&
	    inet_pton(AF_INET, host, &binary) != 1)
		return refuse(item, "an IPv4 address has four numbers from 0 to 255.");
	return 1;
}

static int parse_host(const struct item *item, const char *colon, struct listen_address *address)
{
	size_t len = (size_t)(colon - item->text);
	int r;

	if (len > HOST_MAX)
		return refuse(item, "the name of a host has at most %d bytes.", HOST_MAX);
	if (len == 1 && item->text[0] == '*')
		return refuse(item, "every address of the machine is written :PORT, without the "
				    "\"*\".");
	memcpy(address->text, item->text, len);
	address->kind = len == 0 ? LISTEN_ANY : LISTEN_NAME;
	r = check_host(item, address->text);
	return r < 0 ? r : parse_port(item, colon + 1, item->len - len - 1, &address->port);
}

/* No colon at all. */
static int refuse_bare(const struct item *item)
{
	char shown[SHOWN];

	printable_copy(shown, sizeof(shown), item->text, item->len);
	if (item->text[0] == '/')
		return refuse(item, "a unix socket is written " PATH_PREFIX "%s.", shown);
	if (strspn(shown, DIGITS) == item->len)
		return refuse(item, "a port alone is written :%s.", shown);
	return refuse(item, "the port is missing; write it like %s:8080.", shown);
}

static int parse_item(const struct item *item, struct listen_address *address)
{
	const char *colon = memchr(item->text, ':', item->len);
	size_t prefix = strlen(PATH_PREFIX);

	if (item->len >= prefix && memcmp(item->text, PATH_PREFIX, prefix) == 0)
		return parse_path(item, address);
	if (memmem(item->text, item->len, "://", 3) != NULL)
		return refuse(item, "an address has no scheme and no path; " FORMS ".");
	if (item->text[0] == '[')
		return parse_bracket(item, address);
	if (colon == NULL)
		return refuse_bare(item);
	if (memrchr(item->text, ':', item->len) != colon)
		return refuse(item, "an IPv6 address stands in brackets, as in [::1]:8080.");
	return parse_host(item, colon, address);
}

int listen_address_next(const char **list, struct listen_address *address, char *error,
			size_t error_size)
{
	struct item item = {.error = error, .error_size = error_size};

	item.text = *list + strspn(*list, SEPARATORS);
	item.len = strcspn(item.text, SEPARATORS);
	*list = item.text + item.len;
	if (item.len == 0)
		return 0;
	*address = (struct listen_address){.port = 0};
	return parse_item(&item, address);
}
