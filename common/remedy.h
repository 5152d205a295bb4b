/* remedy - one sentence for a person: what stands in the way of a sandbox on this machine, and what to do.
 *
 * remedy_facts reads the machine; remedy_sentence is pure, so that each sentence has a unit test. The errno patterns
 * are from trials on Debian 12 and 13, Ubuntu 24.04 reports, Docker's and Podman's default seccomp profiles.
 */
#ifndef COMMON_REMEDY_H
#define COMMON_REMEDY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/stage.h"

/* What the machine says about user namespaces; -1 where the file does not exist. */
struct remedy_facts {
	long userns_clone;	  /* /proc/sys/kernel/unprivileged_userns_clone */
	long max_user_namespaces; /* /proc/sys/user/max_user_namespaces */
	long apparmor_userns;	  /* /proc/sys/kernel/apparmor_restrict_unprivileged_userns */
	bool container; /* /.dockerenv, /run/.containerenv, or $container in the environment of pid 1 */
	bool filtered; /* a seccomp filter that is not ours is on us */
};

/* Reads the facts, for a process that has put so many seccomp filters on itself, its parents' included. Never fails:
 * what cannot be read is -1 or false. */
void remedy_facts(struct remedy_facts *facts, int own_filters);

/* Writes one or two sentences, without a final newline, into text: which layer could not be built, the likely cause by
 * stage, error (a positive errno, 0 when none) and facts, and the command, setting or profile that cures it.
 * For STAGE_INTERPRETER, error is an enum interpreter_reason. python is the configured interpreter (may be NULL).
 * Always NUL-terminated; returns the length written. */
size_t remedy_sentence(char *text, size_t size, enum stage stage, int error,
		       const struct remedy_facts *facts, const char *python);

#endif
