/* SPDX-License-Identifier: Apache-2.0 */
/* Native frames: finds the function of an address in the file that is mapped there. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <otelprof/config.h>

#include "base/io.h"
#include "base/macros.h"
#include "code/dwarf/eh_hdr.h"
#include "code/unwind/heights/record.h"
#include "process/image/executable.h"
#include "process/mappings/mappings.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/publish.h"
#include "sample/state.h"

enum {
	NAME_BYTES = 512,
};

/* An address in a file. */
struct spot {
	struct op_image *image;
	const struct op_mapping *vma;
	size_t segment;
	uint64_t vaddr;	   /* ELF address */
	const char *guess; /* the attribute "guessed", or NULL */
	bool exact;
	bool postponed; /* there was no CPU time for its name */
	bool unread;	/* its name may be found later */
};

static enum op_frame_type type_of(const char *name)
{
	if (name && strcmp(name, "rust") == 0)
		return OP_FRAME_TYPE_RUST;
	if (name && strcmp(name, "go") == 0)
		return OP_FRAME_TYPE_GO;
	return OP_FRAME_TYPE_NATIVE;
}

static int mapping_of(struct op_window *window, const struct spot *spot, uint32_t *ret)
{
	struct op_image *image = spot->image;
	struct op_window_mapping mapping = { 0 };
	const struct op_image_segment *s;
	int r;

	if (image->epoch != op_window_epoch(window)) {
		memset(image->mapping, 0, sizeof(image->mapping));
		image->epoch = op_window_epoch(window);
	}
	*ret = image->mapping[spot->segment];
	if (*ret)
		return 0;
	s = &image->segments[spot->segment];
	mapping.start = s->vaddr;
	mapping.limit = s->vaddr + s->memsz;
	mapping.offset = s->offset;
	r = op_window_string(window, image->file, strlen(image->file), &mapping.file);
	if (r == 0)
		r = op_frames_attribute(window, "process.executable.build_id.gnu",
					image->ids.gnu, &mapping.attributes);
	if (r == 0)
		r = op_frames_attribute(window, "process.executable.build_id.go",
					image->ids.go, &mapping.attributes);
	if (r == 0)
		r = op_frames_attribute(window, "process.executable.build_id.htlhash",
					image->ids.htlhash, &mapping.attributes);
	if (r == 0 && mapping.attributes.len)
		r = op_window_mapping(window, &mapping, &image->mapping[spot->segment]);
	if (r < 0)
		return r;
	*ret = image->mapping[spot->segment];
	return 0;
}

/* Keep a function under @key. Returns its number or OP_NAME_NONE. */
static uint32_t keep_name(struct op_names *n, const struct op_symbol *symbol,
			  uint64_t key)
{
	struct op_name name = { .start_line = symbol->start_line,
				.frame_type = type_of(symbol->frame_type) };
	struct op_name *slot;
	uint64_t known;

	if (op_map64_get(&n->by_key, key, &known) &&
	    strcmp(n->text.data + n->names.data[known].name, symbol->name) == 0)
		return (uint32_t)known;
	name.name = op_names_text(n, symbol->name);
	name.system_name =
		op_names_text(n, symbol->system_name ? symbol->system_name : "");
	name.file = op_names_text(n, symbol->file ? symbol->file : "");
	if (name.name == SIZE_MAX || name.system_name == SIZE_MAX ||
	    name.file == SIZE_MAX)
		return OP_NAME_NONE;
	slot = op_vec_push(&n->names);
	if (!slot)
		return OP_NAME_NONE;
	*slot = name;
	(void)op_map64_put(&n->by_key, key, n->names.len - 1);
	return (uint32_t)(n->names.len - 1);
}

/* The key of an inlined function contains its name, since it has no start address. */
static uint64_t inlined_key(const struct op_symbol *symbol)
{
	return op_hash_bytes(symbol->name, strlen(symbol->name), symbol->start_line) |
	       UINT64_C(1) << 63;
}

/* Keep the inlined functions of a place. Without memory it gets none. */
static void keep_inlined(struct op_names *n, const struct op_symbol *symbols, size_t len,
			 struct op_place *place)
{
	struct op_place_line *line;
	uint32_t name;
	size_t i;

	place->inlined = (uint32_t)n->lines.len;
	for (i = 0; i < len; i++) {
		name = keep_name(n, &symbols[i], inlined_key(&symbols[i]));
		line = name == OP_NAME_NONE ? NULL : op_vec_push(&n->lines);
		if (!line)
			break;
		*line = (struct op_place_line){ name, symbols[i].line };
	}
	place->inlined_len = i == len ? (uint32_t)len : 0;
}

/* Where the FDE of the address begins; 0: it has none. */
static uint64_t fde_start(const struct spot *spot)
{
	uint64_t start;
	uint64_t end;

	return spot->image->elf && op_eh_hdr_function(spot->image->elf, spot->vaddr,
						      &start, &end) > 0
		       ? start
		       : 0;
}

/*
 * A function without a name gets one made of its start address @start, the same for all
 * of its addresses; 0: it is not known. The function at the entry point is _start, as in
 * every C library.
 */
static void name_by_start(const struct spot *spot, uint64_t start, struct op_place *place)
{
	struct op_symbol symbol = { .frame_type = "native", .start = start };
	struct op_image *image = spot->image;
	uint64_t entry = image->elf ? op_elf_entry(image->elf) : 0;
	char name[NAME_BYTES];

	if (!start) {
		if (!entry || spot->vaddr < entry ||
		    spot->vaddr - entry >= OP_UNWIND_TABLE_ENTRY_BYTES)
			return;
		symbol.start = entry;
	}
	if (symbol.start == entry)
		(void)snprintf(name, sizeof(name), "_start");
	else
		(void)snprintf(name, sizeof(name), "%s+0x%" PRIx64, image->file,
			       symbol.start);
	symbol.name = name;
	place->name = keep_name(&image->names, &symbol, symbol.start);
}

/* Look the address up in the file's symbols, which the first lookup loads. Sets
 * spot->unread if they could not be read. Returns 0, or -EINPROGRESS if there is no time
 * for it. */
static int find_name(struct op_sampler *sampler, const struct op_frames_of *of,
		     struct spot *spot, struct op_place *place)
{
	struct op_images *images = op_processes_images(sampler->processes);
	struct op_symbol found[OP_LINES_MAX] = { 0 };
	struct op_names *n = &spot->image->names;
	const struct op_symbol *symbol;
	uint64_t start = 0;
	int len;

	if (op_processes_config(sampler->processes)->flags & OTELPROF_NO_NATIVE_NAMES)
		return 0;
	if (op_allowance_must_wait(sampler->allowance))
		return -EINPROGRESS;
	spot->unread =
		op_publish_open(sampler->processes, of->program, spot->vma, true) < 0 ||
		spot->vma->exe->image != spot->image;
	if (spot->unread)
		return 0;
	/* the next samples wait in the ring */
	if (!spot->image->symbols.loaded && !spot->image->symbols.failed &&
	    op_allowance_is_brief(sampler->allowance))
		return -EINPROGRESS;
	if (!op_image_load_symbols(images, spot->image,
				   op_processes_target(sampler->processes),
				   of->program->proc_pid, spot->vma->exe->path)) {
		images->names_postponed++;
		spot->postponed = true;
		spot->unread = true;
		return 0;
	}
	spot->image->symbols.used_ns = op_clock_monotonic_ns();
	len = !spot->image->symbols.loaded
		      ? 0
		      : op_symbols_find(spot->image->symbols.loaded, spot->vaddr, found,
					OP_LINES_MAX);
	symbol = len > 0 && found[len - 1].name ? &found[len - 1] : NULL;
	/* another function may begin behind a symbol whose end is unknown */
	if (!symbol || symbol->guessed)
		start = fde_start(spot);
	if (!symbol || (symbol->guessed && start > symbol->start)) {
		name_by_start(spot, start, place);
		return 0;
	}
	place->line = symbol->line;
	place->name = keep_name(n, symbol, symbol->start);
	keep_inlined(n, found, (size_t)len - 1, place);
	return 0;
}

/* The number of function @which in the window; it is added if this is its first use. */
static int number_of(struct op_window *window, struct op_names *n, uint32_t which,
		     uint32_t *ret)
{
	struct op_name *name = &n->names.data[which];
	const char *text = n->text.data;
	int r;

	if (name->epoch != op_window_epoch(window)) {
		r = op_frames_function(window, text + name->name,
				       text + name->system_name, text + name->file,
				       name->start_line, &name->number);
		if (r < 0)
			return r;
		name->epoch = op_window_epoch(window);
	}
	*ret = name->number;
	return 0;
}

/* Set the functions of a place in @ret, innermost first, and the type of its code. */
static int functions_of(struct op_window *window, const struct spot *spot,
			const struct op_place *place, enum op_frame_type *ret_type,
			struct op_location *ret)
{
	struct op_names *n = &spot->image->names;
	char unnamed[NAME_BYTES];
	uint32_t i;
	int r = 0;

	if (place->name == OP_NAME_NONE) {
		*ret_type = OP_FRAME_TYPE_NATIVE;
		(void)snprintf(unnamed, sizeof(unnamed), "%s+0x%" PRIx64,
			       spot->image->file, spot->vaddr);
		ret->lines_len = 1;
		return op_frames_function(window, unnamed, NULL, NULL, 0,
					  &ret->lines[0].function);
	}
	*ret_type = (enum op_frame_type)n->names.data[place->name].frame_type;
	for (i = 0; !r && i < place->inlined_len; i++) {
		const struct op_place_line *line = &n->lines.data[place->inlined + i];

		ret->lines[i].line = line->line;
		r = number_of(window, n, line->name, &ret->lines[i].function);
	}
	ret->lines[i].line = place->line;
	ret->lines_len = i + 1;
	return r ? r : number_of(window, n, place->name, &ret->lines[i].function);
}

static int place_location(struct op_sampler *sampler, struct op_window *window,
			  const struct spot *spot, const struct op_place *place,
			  uint32_t *ret)
{
	struct op_location location = { .address = spot->vaddr };
	enum op_frame_type type = OP_FRAME_TYPE_NATIVE;
	int r;

	r = mapping_of(window, spot, &location.mapping);
	if (r < 0)
		return r;
	if (!(op_processes_config(sampler->processes)->flags &
	      OTELPROF_NO_NATIVE_NAMES)) {
		r = functions_of(window, spot, place, &type, &location);
		if (r < 0)
			return r;
	}
	r = op_frames_type(sampler, window, type, &location.attributes);
	if (r == 0 && spot->guess)
		r = op_frames_attribute(window, "otelprof.frame.guessed", spot->guess,
					&location.attributes);
	if (r == 0 && spot->postponed)
		r = op_frames_attribute(window, "otelprof.frame.name_postponed", "true",
					&location.attributes);
	return r < 0 ? r : op_window_location(window, &location, ret);
}

/* Is it an instruction at which sp was set to another stack, or to another place of its own? */
static bool switches_stack(struct op_sampler *sampler, const struct op_frames_of *of,
			   const struct spot *spot)
{
	const struct op_image_segment *s = &spot->image->segments[spot->segment];
	uint8_t code[OP_HEIGHTS_SWITCH_BEFORE + OP_HEIGHTS_SWITCH_AFTER];
	uint64_t from = OP_MAX(spot->vaddr - OP_HEIGHTS_SWITCH_BEFORE, s->vaddr);
	uint64_t to = OP_MIN(spot->vaddr + OP_HEIGHTS_SWITCH_AFTER, s->vaddr + s->filesz);

	return from < to &&
	       op_publish_open(sampler->processes, of->program, spot->vma, true) == 0 &&
	       spot->vma->exe->image == spot->image && spot->image->elf &&
	       op_elf_machine(spot->image->elf) == EM_X86_64 &&
	       op_elf_read_apart(spot->image->elf, s->offset + (from - s->vaddr), code,
				 to - from) == 0 &&
	       op_heights_switch(code, to - from, spot->vaddr - from);
}

static int spot_location(struct op_sampler *sampler, const struct op_frames_of *of,
			 struct spot *spot, uint32_t *ret)
{
	struct op_names *n = &spot->image->names;
	struct op_place *place = op_names_get(n, spot->vaddr);
	struct op_place fresh = { .name = OP_NAME_NONE };
	uint32_t epoch = op_window_epoch(of->window);
	uint32_t unread = (uint32_t)op_frames_nameless_epoch(sampler, epoch);
	uint32_t location;
	int found;
	int r = 0;

	op_image_touch(op_processes_images(sampler->processes), spot->image);
	if (place && place->switches && spot->exact)
		spot->guess = OP_FRAMES_GUESSED_CALLER;
	if (place && !spot->guess && (place->epoch == epoch || place->epoch == unread)) {
		*ret = place->location;
		return place->epoch == epoch ? 0 : OP_FRAMES_UNKNOWN;
	}
	if (place)
		fresh = *place;
	/* Names of guessed frames are kept without a place, so this checks the limits
	 * too. */
	if (fresh.name == OP_NAME_NONE && op_names_are_full(n)) {
		op_names_clear(n);
		place = NULL;
	}
	/* Try again to find a missing name, because the file may have been unreadable
	 * before. */
	if (fresh.name == OP_NAME_NONE)
		r = find_name(sampler, of, spot, &fresh);
	if (r == 0 && !place && !spot->guess && switches_stack(sampler, of, spot)) {
		fresh.switches = true;
		spot->guess = spot->exact ? OP_FRAMES_GUESSED_CALLER : NULL;
	}
	if (r == 0)
		r = place_location(sampler, of->window, spot, &fresh, &location);
	if (r < 0)
		return r;
	*ret = location;
	found = spot->unread ? OP_FRAMES_UNKNOWN : 0;
	/* The place keeps the location without the attribute "guessed". */
	if (spot->guess && !fresh.switches)
		return found;
	fresh.epoch = spot->guess ? 0 : spot->unread ? unread : epoch;
	fresh.location = location;
	if (!place)
		place = op_names_add(n, spot->vaddr);
	/* op_names_add() may have forgotten all names. Then the number of the name is
	 * not valid. */
	if (place) {
		if (fresh.name != OP_NAME_NONE && fresh.name >= n->names.len)
			fresh.name = OP_NAME_NONE;
		*place = fresh;
	}
	return found;
}

/* Make the location of an address whose mapping is unknown or whose file cannot be
 * read. It may be read the next time. */
static int plain_location(struct op_sampler *sampler, const struct op_frames_of *of,
			  const struct op_mapping *v, uint64_t addr, bool guessed,
			  uint32_t *ret)
{
	char name[NAME_BYTES];
	const char *guess = guessed ? OP_FRAMES_GUESSED : NULL;
	const char *file;
	uint64_t offset;

	if (!v) {
		(void)snprintf(name, sizeof(name), "[unmapped]+0x%" PRIx64, addr);
		return op_frames_nameless(sampler, of->window, addr, name, guess, ret);
	}
	if (v->uprobes) {
		(void)snprintf(name, sizeof(name), "[uprobes]+0x%" PRIx64,
			       addr - v->start);
		return op_frames_nameless(sampler, of->window, addr, name, guess, ret);
	}
	if (!v->exe)
		return op_frames_made(sampler, of, v, NULL, addr, guessed, ret);
	file = op_base_name(v->exe->path);
	if (v->exe->state == OP_EXECUTABLE_FOREIGN)
		return op_frames_made(sampler, of, v, file, addr, guessed, ret);
	offset = addr - v->start + v->offset;
	(void)snprintf(name, sizeof(name), "%s+0x%" PRIx64, file, offset);
	return op_frames_nameless(sampler, of->window, offset, name, guess, ret)
		       ?: OP_FRAMES_UNKNOWN;
}

int op_frames_native(struct op_sampler *sampler, const struct op_frames_of *of,
		     uint64_t pc, enum op_frame_kind kind, uint32_t *ret)
{
	bool guessed = kind == OP_FRAME_NATIVE_GUESSED;
	uint64_t addr = kind == OP_FRAME_NATIVE_EXACT || !pc ? pc : pc - 1;
	const struct op_image_segment *s;
	struct op_mapping *v = NULL;
	struct spot spot;
	size_t i;

	sampler->guessed += guessed;
	if (of->mappings && of->program)
		v = op_mappings_find_room(of->mappings, addr);
	if (!v || !v->exe ||
	    op_publish_open(sampler->processes, of->program, v, false) < 0)
		return plain_location(sampler, of, v, addr, guessed, ret);
	/* opened for this frame, after it was rewritten */
	if (of->time_ns && op_claim_is_rewritten(v->exe, &v->claim, of->time_ns))
		return plain_location(sampler, of, v, addr, guessed, ret);
	i = op_image_find_segment(v->exe->image, v->offset, v->end - v->start);
	if (i == SIZE_MAX)
		return plain_location(sampler, of, v, addr, guessed, ret);
	s = &v->exe->image->segments[i];
	spot = (struct spot){ .image = v->exe->image,
			      .vma = v,
			      .segment = i,
			      .vaddr = addr - v->start + v->offset - s->offset + s->vaddr,
			      .guess = guessed ? OP_FRAMES_GUESSED : NULL,
			      .exact = kind == OP_FRAME_NATIVE_EXACT };
	return spot_location(sampler, of, &spot, ret);
}
