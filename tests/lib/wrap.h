/* wrap - the linker's --wrap, for builds of the product's own objects that do or note something more.
 *
 * A call of FUNCTION goes to __wrap_FUNCTION, and __real_FUNCTION is what it would have been (ld(1)). It reaches only
 * calls from one object file to another. The Makefile finds the names by the lines that begin with WRAP.
 */
#ifndef WRAP_H
#define WRAP_H

/* Declares both sides of a wrapped function. */
#define WRAP(type, function, ...)                                                                  \
	type __real_##function(__VA_ARGS__);                                                       \
	type __wrap_##function(__VA_ARGS__);                                                       \
	type __wrap_##function(__VA_ARGS__)

#endif
