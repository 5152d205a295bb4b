/* authority - cuts host[:port] up. */
#include "supervisor/authority.h"

#include <arpa/inet.h>
#include <string.h>

#include "supervisor/ascii.h"

/* unreserved of RFC 3986. */
static bool is_plain(char c)
{
	return ascii_is_digit(c) || ascii_is_letter(c) || c == '-' || c == '.' || c == '_' ||
	       c == '~';
}

/* Percent-encoded bytes occur where a client puts the path of a unix socket into Host. */
static bool is_name(struct slice host)
{
	for (size_t i = 0; i < host.len; i++) {
		if (is_plain(host.data[i]))
			continue;
		if (host.data[i] != '%' || host.len - i < 3 || ascii_hex(host.data[i + 1]) < 0 ||
		    ascii_hex(host.data[i + 2]) < 0)
			return false;
		i += 2;
	}
	return host.len > 0;
}

static bool is_ipv6(struct slice host)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr unused;

	if (host.len < 2 || host.len - 2 >= sizeof(address) || host.data[host.len - 1] != ']' ||
	    memchr(host.data, '\0', host.len))
		return false;
	memcpy(address, host.data + 1, host.len - 2);
	address[host.len - 2] = '\0';
	return inet_pton(AF_INET6, address, &unused) == 1;
}

static bool read_port(struct slice text, int *port)
{
	int number = 0;

	if (text.len < 1 || text.len > 5)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!ascii_is_digit(text.data[i]))
			return false;
		number = number * 10 + (text.data[i] - '0');
	}
	*port = number;
	return number <= UINT16_MAX;
}

bool authority_parse(struct slice text, struct authority *authority)
{
	const char *colon = text.len > 0 ? memrchr(text.data, ':', text.len) : NULL;
	bool brackets = text.len > 0 && text.data[0] == '[';

	*authority = (struct authority){.host = text, .port = AUTHORITY_NO_PORT};
	if (brackets && text.data[text.len - 1] == ']')
		colon = NULL;
	if (colon) {
		size_t at = (size_t)(colon - text.data);
		struct slice port = {colon + 1, text.len - at - 1};

		authority->host.len = at;
		if (!read_port(port, &authority->port))
			return false;
	}
	return brackets ? is_ipv6(authority->host) : is_name(authority->host);
}
