/* scan_keys - a stack of object keys, and a hash table for each large object that closes. */
#include "supervisor/scan_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/cleanup.h"
#include "supervisor/scan_token.h"

/* A Mersenne prime: the field of the polynomials. */
#define FIELD UINT64_C(0x7fffffff)
/* Up to this many keys are compared with each other: that is faster than a table. */
#define FEW 8
#define FIRST_CAPACITY 32

/* Without random numbers the point is a fixed one: answers stay right, only the bound on time is
 * lost. */
static uint32_t random_point(void)
{
	uint32_t value;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value))
		value = 0x2545f491;
	return 0x10000 + value % 0x7ffe0000;
}

static uint32_t hash_content(struct slice content, uint32_t point)
{
	struct scan_cursor cursor = {.at = content.data, .end = content.data + content.len};
	uint64_t hash = 0;
	uint32_t code = 0;

	while (scan_cursor_next(&cursor, &code))
		hash = (hash * point + code + 1) % FIELD;
	return (uint32_t)hash;
}

int scan_keys_push(struct scan_keys *keys, struct slice content)
{
	if (keys->count == keys->capacity) {
		size_t capacity = keys->capacity ? keys->capacity * 2 : FIRST_CAPACITY;
		struct scan_key *items = reallocarray(keys->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		keys->items = items;
		keys->capacity = capacity;
	}
	if (keys->point == 0)
		keys->point = random_point();
	keys->items[keys->count++] = (struct scan_key){
		.content = content,
		.hash = hash_content(content, keys->point),
	};
	return 0;
}

static bool same_key(const struct scan_key *a, const struct scan_key *b)
{
	return a->hash == b->hash && scan_content_equal(a->content, b->content);
}

static bool few_have_twin(const struct scan_key *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (same_key(&items[i], &items[j]))
				return true;
	return false;
}

/* Puts item i into the table of size slots, a power of two; says whether an equal one was there. */
static bool insert(const struct scan_key *items, size_t i, uint32_t *table, size_t size)
{
	/* Neighbouring hashes are spread (Fibonacci hashing), as probing is linear. */
	size_t at = (items[i].hash * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (size - 1);

	while (table[at] != 0) {
		if (same_key(&items[table[at] - 1], &items[i]))
			return true;
		at = (at + 1) & (size - 1);
	}
	table[at] = (uint32_t)(i + 1);
	return false;
}

static int many_have_twin(const struct scan_key *items, size_t count, bool *twin)
{
	_cleanup_free_ uint32_t *table = NULL;
	size_t size = FEW;

	if (count >= UINT32_MAX / 4)
		return -ENOMEM;
	while (size < count * 2)
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < count && !*twin; i++)
		*twin = insert(items, i, table, size);
	return 0;
}

int scan_keys_close(struct scan_keys *keys, size_t first, bool *duplicate)
{
	size_t count = keys->count - first;
	const struct scan_key *items = count > 0 ? &keys->items[first] : NULL;
	int err = 0;

	*duplicate = false;
	if (count > FEW)
		err = many_have_twin(items, count, duplicate);
	else if (count > 1)
		*duplicate = few_have_twin(items, count);
	keys->count = first;
	return err;
}

void scan_keys_clear(struct scan_keys *keys)
{
	free(keys->items);
	*keys = (struct scan_keys){.items = NULL};
}
