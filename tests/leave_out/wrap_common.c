/* wrap_common - what both programs ask fcntl for: sealed blobs, and a link that ends at exec. fcntl(2). */
#include <fcntl.h>
#include <stdarg.h>

#include "tests/leave_out/leave_out.h"

#define EVERY_SEAL (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

WRAP(int, fcntl, int fd, int command, ...)
{
	va_list list;
	long argument;

	va_start(list, command);
	argument = va_arg(list, long);
	va_end(list);
	if (command == F_ADD_SEALS && left_out(STEP_blob_seal))
		return 0;
	if (command == F_SETFD && left_out(STEP_cloexec_link))
		return 0;
	if (command == F_GET_SEALS && left_out(STEP_blob_check))
		return EVERY_SEAL;
	return __real_fcntl(fd, command, argument);
}
