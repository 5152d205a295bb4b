/* stdio - the transport an IDE uses: one JSON message a line, answers on stdout, nothing else there, ever.
 *
 * End of input: calls that were read get one second, then what runs is killed without an answer. A reader that is still
 * reading then gets the answers that are there, for up to four seconds more; exit 0. When the reader of stdout is gone
 * (EPIPE, POLLERR, POLLHUP), the parent has died (pidfd), or SIGTERM, SIGINT or SIGHUP came: at once. A SIGHUP that was
 * ignored when we were started, as by nohup(1), stays ignored.
 * A stdout that cannot be written for another reason, such as a full disk: exit 70, at once.
 * A line longer than a message may be is dropped up to its newline and answered with an error.
 */
#ifndef SUPERVISOR_STDIO_H
#define SUPERVISOR_STDIO_H

#include "supervisor/config.h"
#include "supervisor/spawn.h"

/* Serves descriptors 0 and 1 until the client is done. output_fd: the terminal or pipe that stdout is, opened anew
 * and non-blocking, borrowed; or -1, and stdout is written to as it is. Returns the exit code. */
int stdio_serve(const struct config *config, const struct spawn_spec *spec, int output_fd);

#endif
