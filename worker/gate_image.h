/* gate_image - the gate (worker/gate/), which pristine interpreters load, as the worker carries it: a shared object and
 * the program that loads it. So there is no path to find them by, which a view or an unprivileged user might not have. */
#ifndef WORKER_GATE_IMAGE_H
#define WORKER_GATE_IMAGE_H

#include <stddef.h>

/* Where a pristine interpreter finds it; the program knows the path, too. */
#define GATE_PATH "/gate.so"

/* Put there by the linker, see Makefile. */
extern const char gate_image[] __asm__("_binary_gate_so_start");
extern const char gate_program[] __asm__("_binary_gate_py_start");

/* Their sizes in bytes. */
size_t gate_image_size(void);
size_t gate_program_size(void);

#endif
