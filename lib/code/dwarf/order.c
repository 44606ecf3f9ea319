/* SPDX-License-Identifier: Apache-2.0 */
/* Orders FDEs by address, by the search table or by sorting in bounded memory. */
#include "code/dwarf/order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "code/dwarf/eh_hdr.h"

/* ---- the search table ---- */

enum {
	/* The cost of an entry in addition to its bytes: a hostile table may name one FDE
	 * a million times. */
	ENTRY_WORK = 64,
};

static int note_work(const struct op_cfi_order *order)
{
	return order->cfi->elf ? op_elf_work(order->cfi->elf, ENTRY_WORK) : 0;
}

/* Read entry @at of the table: the function's address and its FDE's offset. */
static int read_table(struct op_cfi_order *order, uint64_t at, struct op_cfi_place *ret)
{
	const uint8_t *bytes;
	struct op_reader r;
	int error;

	error = op_dwarf_section_at(&order->table, at, OP_EH_HDR_ENTRY_BYTES, &bytes);
	if (error < 0)
		return error;
	r = op_reader_init(bytes, OP_EH_HDR_ENTRY_BYTES);
	ret->start = order->table_base + (uint64_t)op_read_s32(&r);
	ret->off =
		order->table_base + (uint64_t)op_read_s32(&r) - order->cfi->section.addr;
	return 0;
}

/* Is the whole table sorted and inside of the section? Returns 1, 0 or -EINPROGRESS. */
static int table_is_sane(struct op_cfi_order *order, struct op_allowance *allowance)
{
	struct op_cfi_place place;

	while (order->table_at < order->table.size) {
		if (read_table(order, order->table_at, &place) < 0)
			return 0;
		if (note_work(order) < 0 || place.start < order->before.start ||
		    place.off >= order->cfi->section.size)
			return 0;
		order->before = place;
		order->table_at += OP_EH_HDR_ENTRY_BYTES;
		if (op_allowance_step(allowance))
			return -EINPROGRESS;
	}
	return 1;
}

/* Open the search table. Returns false if there is none. */
static bool open_table(struct op_cfi_order *order)
{
	struct op_elf *elf = order->cfi->elf;
	struct op_eh_hdr hdr;

	if (!elf || order->cfi->kind != OP_CFI_EH_FRAME || !op_eh_hdr_read(elf, &hdr) ||
	    !hdr.count || hdr.frame != order->cfi->section.addr)
		return false;
	order->table_base = hdr.addr;
	op_dwarf_section_init_range(&order->table, elf, hdr.table,
				    hdr.count * OP_EH_HDR_ENTRY_BYTES, 0);
	return true;
}

static void begin_round(struct op_cfi_order *order)
{
	order->state = OP_CFI_ORDER_ROUND;
	order->len = order->at = 0;
	order->more = false;
	order->round_at = 0;
}

/* Decide between the table and reading the section. Returns 0 or -EINPROGRESS. */
static int check_table(struct op_cfi_order *order, struct op_allowance *allowance)
{
	int r = table_is_sane(order, allowance);

	if (r < 0)
		return r;
	order->table_at = 0;
	if (r > 0)
		order->state = OP_CFI_ORDER_BY_TABLE;
	else
		begin_round(order);
	return 0;
}

/* ---- reading the section ---- */

static bool before(const struct op_cfi_place *a, const struct op_cfi_place *b)
{
	return a->start != b->start ? a->start < b->start : a->off < b->off;
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a) ? 1 : 0;
}

/* Keep @place for this round. If the array is full, the upper half is left to a later
 * round. */
static int keep(struct op_cfi_order *order, struct op_cfi_place place)
{
	struct op_cfi_place *limit = &order->limit;

	if (order->more && !before(&place, limit))
		return 0;
	if (order->len == OP_CFI_ORDER_MAX) {
		qsort(order->places, order->len, sizeof(*order->places), compare);
		order->len /= 2;
		*limit = order->places[order->len];
		order->more = true;
		if (!before(&place, limit))
			return 0;
	}
	if (op_vec_grow((void **)&order->places, &order->cap, order->len, 1,
			sizeof(*order->places)) < 0)
		return -ENOMEM;
	order->places[order->len++] = place;
	return 0;
}

/* The place of the record at @off if it is an FDE. Returns 1, 0 or -errno. */
static int place_entry(struct op_cfi_order *order, const struct op_cfi_entry *entry,
		       struct op_cfi_place *ret)
{
	struct op_cfi_parsed_fde parsed;
	int error;

	if (entry->empty || entry->is_cie)
		return 0;
	error = op_cfi_read_fde(order->cfi, entry, &parsed);
	if (error < 0)
		return error;
	*ret = (struct op_cfi_place){ .start = parsed.fde.start, .off = entry->off };
	return 1;
}

/* Read the section once and keep the next places, sorted. Returns 0, -EINPROGRESS or
 * -errno. */
static int walk(struct op_cfi_order *order, struct op_allowance *allowance)
{
	while (order->round_at < order->cfi->section.size) {
		struct op_cfi_entry entry = { .next = 0 };
		uint64_t off = order->round_at;
		struct op_cfi_place place = { 0 };
		int r = note_work(order);

		if (r == 0)
			r = op_cfi_read_entry(order->cfi, off, &entry);
		if (r == 0 && entry.empty && order->cfi->has_terminator)
			break;
		if (r == 0)
			r = place_entry(order, &entry, &place);
		if (r == -EBADMSG || r == -E2BIG) {
			order->broken += order->first_round;
			if (entry.next <= off)
				/* Not even the length can be read: the rest is lost. */
				break;
		} else if (r < 0) {
			return r;
		}
		if (r == 1 && (order->first_round || before(&order->last, &place))) {
			r = keep(order, place);
			if (r < 0)
				return r;
		}
		order->round_at = entry.next;
		if (op_allowance_step(allowance))
			return -EINPROGRESS;
	}
	order->state = OP_CFI_ORDER_SORTED;
	order->first_round = false;
	if (order->len) {
		qsort(order->places, order->len, sizeof(*order->places), compare);
		order->last = order->places[order->len - 1];
	}
	return 0;
}

void op_cfi_order_init(struct op_cfi_order *order, struct op_cfi *cfi)
{
	*order = (struct op_cfi_order){ .cfi = cfi, .first_round = true };
	if (!open_table(order))
		begin_round(order);
}

void op_cfi_order_deinit(struct op_cfi_order *order)
{
	op_dwarf_section_deinit(&order->table);
	free(order->places);
	order->places = NULL;
}

static int next_by_table(struct op_cfi_order *order, uint64_t *ret)
{
	struct op_cfi_place place = { 0 };
	int r;

	if (order->table_at >= order->table.size)
		return 0;
	r = note_work(order);
	if (r == 0)
		r = read_table(order, order->table_at, &place);
	if (r < 0)
		return r;
	order->table_at += OP_EH_HDR_ENTRY_BYTES;
	*ret = place.off;
	return 1;
}

int op_cfi_order_next(struct op_cfi_order *order, struct op_allowance *allowance,
		      uint64_t *ret)
{
	int r = 0;

	if (order->state == OP_CFI_ORDER_CHECK)
		r = check_table(order, allowance);
	if (r == 0 && order->state == OP_CFI_ORDER_BY_TABLE)
		return next_by_table(order, ret);
	if (r == 0 && order->state == OP_CFI_ORDER_SORTED && order->at == order->len &&
	    order->more)
		begin_round(order);
	if (r == 0 && order->state == OP_CFI_ORDER_ROUND)
		r = walk(order, allowance);
	if (r < 0)
		return r;
	if (order->at == order->len)
		return 0;
	*ret = order->places[order->at++].off;
	return 1;
}

size_t op_cfi_order_bytes(const struct op_cfi_order *order)
{
	return op_dwarf_section_bytes(&order->table) +
	       order->cap * sizeof(*order->places);
}
