/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/entries.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"

enum {
	BLOCK = 16,
	NUMBER_BYTES_MAX = 5,
	ENTRIES_MAX = 1 << 24,
};

/* Read @len bytes at *@off, which moves behind them. */
static int take(const struct op_dotnet_entries *e, uint64_t off, void *to, uint32_t len)
{
	if (!op_range_ok(off, len, e->size))
		return -EBADMSG;
	return op_memory_read(e->memory, e->at + off, to, len);
}

/* A number of 1 to 5 bytes; the lowest bits of the first one tell how many. */
static int number(const struct op_dotnet_entries *e, uint64_t *off, uint32_t *ret)
{
	uint8_t bytes[NUMBER_BYTES_MAX] = { 0 };
	uint32_t len = 1;
	uint64_t value = 0;
	int r = take(e, *off, bytes, 1);

	if (r < 0)
		return r;
	while (len < NUMBER_BYTES_MAX && bytes[0] >> (len - 1) & 1)
		len++;
	r = take(e, *off, bytes, len);
	if (r < 0)
		return r;
	memcpy(&value, bytes, sizeof(bytes));
	*off += len;
	*ret = (uint32_t)(value >> (len == NUMBER_BYTES_MAX ? 8 : len));
	return 0;
}

int op_runtime_dotnet_entries(const struct op_dotnet_pe *pe, uint32_t type,
			      struct op_dotnet_entries *ret)
{
	struct op_dotnet_place place;
	uint64_t off = 0;
	uint32_t head = 0;
	int r = op_runtime_dotnet_pe_ready(pe, type, &place);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = (struct op_dotnet_entries){
		.memory = pe->memory,
		.at = op_runtime_dotnet_pe_at(pe, place.rva, place.size),
		.size = place.size,
	};
	r = number(ret, &off, &head);
	if (r < 0)
		return r;
	ret->count = head >> 2;
	ret->base = (uint32_t)off;
	ret->index_bytes = (head & 3) == 0 ? 1 : (head & 3) == 1 ? 2 : 4;
	return ret->count <= ENTRIES_MAX ? 0 : -EBADMSG;
}

int op_runtime_dotnet_entry(const struct op_dotnet_entries *e, uint32_t index,
			    uint32_t *ret)
{
	uint32_t block = 0;
	uint32_t value = 0;
	uint64_t off;
	uint32_t bit;
	int r;

	if (index >= e->count)
		return 0;
	r = take(e, e->base + (uint64_t)(index / BLOCK) * e->index_bytes, &block,
		 e->index_bytes);
	off = (uint64_t)e->base + block;
	/* A tree: of a node, bit 0 tells that it has a left side, which follows; bit 1, that it
	 * has a right one, as far away as its other bits tell. A leaf that stands alone
	 * has neither, but the number of its entry. */
	for (bit = BLOCK / 2; r == 0 && bit; bit /= 2) {
		uint64_t next = off;

		r = number(e, &next, &value);
		if (r < 0)
			return r;
		if (index & bit && value & 2) {
			off += value >> 2;
		} else if (!(index & bit) && value & 1) {
			off = next;
		} else if (!(value & 3) && value >> 2 == index % BLOCK) {
			off = next;
			break;
		} else {
			return 0;
		}
	}
	if (r == 0)
		r = number(e, &off, &value);
	if (r < 0)
		return r;
	*ret = value & 1 ? value >> 2 : value >> 1;
	return 1;
}
