/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix sort that begins with the first byte of the key. Exchanges move each symbol
 * to the part of its byte, and each part is sorted by the next bytes. So the work is at
 * most the number of symbols times the bytes of a key, whatever their order in the
 * file.
 */
#include "code/symbol/index.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	BYTE_VALUES = 256,
	/* Of a key: four of the address, the class, four of the name. */
	KEY_BYTES = 9,
	CLASS_BYTE = 4,
	/* So few are sorted by insertion. */
	FEW = 24,
};

static bool is_before(const struct op_symbol_raw *x, const struct op_symbol_raw *y)
{
	if (x->addr != y->addr)
		return x->addr < y->addr;
	if (x->class != y->class)
		return x->class < y->class;
	return x->name < y->name;
}

static void insert_all(struct op_symbol_raw *raw, size_t len)
{
	size_t i;

	for (i = 1; i < len; i++) {
		struct op_symbol_raw one = raw[i];
		size_t at = i;

		for (; at > 0 && is_before(&one, &raw[at - 1]); at--)
			raw[at] = raw[at - 1];
		raw[at] = one;
	}
}

/* Byte number @which of the key, the most significant one first. */
static inline uint8_t key_byte(const struct op_symbol_raw *s, unsigned int which)
{
	if (which < CLASS_BYTE)
		return (uint8_t)(s->addr >> (8 * (3 - which)));
	if (which == CLASS_BYTE)
		return (uint8_t)s->class;
	return (uint8_t)(s->name >> (8 * (8 - which)));
}

/* Move each symbol to the part of its byte. *@ends gets the end of each part. Returns
 * whether all are in one part. */
static bool divide(struct op_symbol_raw *raw, size_t len, unsigned int which,
		   size_t ends[BYTE_VALUES])
{
	size_t next[BYTE_VALUES] = { 0 };
	size_t begin = 0;
	unsigned int part;
	size_t i;

	for (i = 0; i < len; i++)
		next[key_byte(&raw[i], which)]++;
	if (next[key_byte(&raw[0], which)] == len)
		return true;
	for (part = 0; part < BYTE_VALUES; part++) {
		size_t count = next[part];

		next[part] = begin;
		begin += count;
		ends[part] = begin;
	}
	for (part = 0; part < BYTE_VALUES; part++) {
		while (next[part] < ends[part]) {
			struct op_symbol_raw one = raw[next[part]];
			unsigned int of = key_byte(&one, which);

			while (of != part) {
				struct op_symbol_raw other = raw[next[of]];

				raw[next[of]++] = one;
				one = other;
				of = key_byte(&one, which);
			}
			raw[next[part]++] = one;
		}
	}
	return false;
}

/* All have the same first @which bytes of the key. */
static void sort_from(struct op_symbol_raw *raw, size_t len, unsigned int which)
{
	size_t ends[BYTE_VALUES];
	size_t begin = 0;
	unsigned int part;

	if (len <= FEW) {
		insert_all(raw, len);
		return;
	}
	for (; which < KEY_BYTES; which++)
		if (!divide(raw, len, which, ends))
			break;
	for (part = 0; which < KEY_BYTES && part < BYTE_VALUES; part++) {
		sort_from(raw + begin, ends[part] - begin, which + 1);
		begin = ends[part];
	}
}

static bool is_sorted(const struct op_symbol_raw *raw, size_t len)
{
	size_t i;

	for (i = 1; i < len; i++)
		if (is_before(&raw[i], &raw[i - 1]))
			return false;
	return true;
}

void op_symbol_sort(struct op_symbol_raw *raw, size_t len)
{
	if (!is_sorted(raw, len))
		sort_from(raw, len, 0);
}
