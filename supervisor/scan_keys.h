/* scan_keys - does an object have a key twice? Private to scan.
 *
 * The keys of all objects that are open lie on one stack: an object's keys are together on top of
 * it when it closes. Time and memory are linear in the number of keys whatever they are: they are
 * hashed as polynomials at a random point, so nobody can choose keys that collide. Keys are
 * compared as the text they mean, escapes resolved.
 */
#ifndef SUPERVISOR_SCAN_KEYS_H
#define SUPERVISOR_SCAN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/scan.h"

struct scan_key {
	struct slice content;
	uint32_t hash;
};

struct scan_keys {
	struct scan_key *items;
	size_t count;
	size_t capacity;
	uint32_t point; /* where the polynomials are evaluated; 0 until the first key */
};

/* Puts the content of a key on the stack. Returns 0 or -ENOMEM. */
int scan_keys_push(struct scan_keys *keys, struct slice content);

/* Takes all keys from number first on off the stack, and says in *duplicate whether two of them
 * are the same. Returns 0 or -ENOMEM. */
int scan_keys_close(struct scan_keys *keys, size_t first, bool *duplicate);

/* Frees the stack. */
void scan_keys_clear(struct scan_keys *keys);

#endif
