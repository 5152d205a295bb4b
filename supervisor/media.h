/* media - the header fields Content-Type and Accept (RFC 9110 §8.3, §12.5.1), as far as two types need it. Pure. */
#ifndef SUPERVISOR_MEDIA_H
#define SUPERVISOR_MEDIA_H

#include <stdbool.h>

/* Says whether a Content-Type (NULL: absent) is this type, whatever its parameters. type is lower case. */
bool media_is(const char *content_type, const char *type);

/* Says whether an Accept (NULL: absent, which accepts everything) takes this type: by its name, or by a wildcard. A
 * weight of 0 excludes; other weights and the parameters are not looked at. type is lower case. */
bool media_accepts(const char *accept, const char *type);

/* The same, but only by its own name. */
bool media_names(const char *accept, const char *type);

#endif
