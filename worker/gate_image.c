/* gate_image - see the header. */
#include "worker/gate_image.h"

extern const char gate_image_end[] __asm__("_binary_gate_so_end");
extern const char gate_program_end[] __asm__("_binary_gate_py_end");

size_t gate_image_size(void)
{
	return (size_t)(gate_image_end - gate_image);
}

size_t gate_program_size(void)
{
	return (size_t)(gate_program_end - gate_program);
}
