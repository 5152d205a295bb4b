/* stdio - the transport an IDE uses: one JSON message a line, answers on stdout, nothing else there, ever.
 *
 * End of input: calls that were read get one second, then what runs is killed without an answer; stdout is flushed; exit
 * 0. When the reader of stdout is gone (EPIPE, POLLERR), the parent has died (pidfd), or SIGTERM or SIGINT came: at once.
 * A line longer than a message may be is dropped up to its newline and answered with an error.
 */
#ifndef SUPERVISOR_STDIO_H
#define SUPERVISOR_STDIO_H

#include "supervisor/config.h"
#include "supervisor/spawn.h"

/* Serves descriptors 0 and 1 until the client is done. Returns the exit code. */
int stdio_serve(const struct config *config, const struct spawn_spec *spec);

#endif
