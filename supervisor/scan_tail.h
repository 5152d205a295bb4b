/* scan_tail - the id of a message that is not read to its end. Private to rpc. Pure. */
#ifndef SUPERVISOR_SCAN_TAIL_H
#define SUPERVISOR_SCAN_TAIL_H

#include "supervisor/scan.h"

/* The id that is the last member of an object whose text ends here: ,"id":VALUE} with an integer or a string of
 * printable ASCII without escapes. In JSON nothing else can look like this at its end. Returns no data for anything
 * else. The slice points into text, of which the start may be missing. */
struct slice scan_tail_id(const char *text, size_t len);

#endif
