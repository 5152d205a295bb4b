/* gate_image - see the header. */
#include "worker/gate_image.h"

#include <stdint.h>

extern const char gate_image_end[] __asm__("_binary_gate_so_end");
extern const char gate_program_end[] __asm__("_binary_gate_py_end");

/* Not a difference of pointers: to C these are two objects. */
size_t gate_image_size(void)
{
	return (uintptr_t)gate_image_end - (uintptr_t)gate_image;
}

size_t gate_program_size(void)
{
	return (uintptr_t)gate_program_end - (uintptr_t)gate_program;
}
