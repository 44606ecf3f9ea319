/* SPDX-License-Identifier: Apache-2.0 */
/* Reads debug info with libdw, which finds separate debug files and asks debuginfod
 * servers itself. */
#include "recording/lines/debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "code/symbol/symbols.h"
#include "recording/lines/debug_budget.h"
#include "recording/lines/ranges.h"

enum {
	DWARF_FILES_FROM_0 = 5,
	NESTING_MAX = 64, /* depth of nested blocks */
};

/* With -gsplit-dwarf a unit is a skeleton, whose functions are in a .dwo file. */
struct unit {
	bool indexed;
	bool is_gone;  /* there is no such file */
	Dwarf_Die die; /* of the functions */
	struct ranges functions;
};

struct debuginfo {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Addr main_bias; /* address of the module - ELF address */
	Dwarf_Addr bias;      /* address in the debug info - ELF address */
	struct ranges code;
	struct symbol_spans symbols;
	OP_VEC(struct unit) units;
	size_t units_gone;
	struct debug_budget room;
	char *name;	 /* result of debuginfo_name() if it is a copy */
	uint64_t before; /* bytes of the heap when it was opened */
};

/* Collect the ranges of all units, because not every compiler writes .debug_aranges. */
static int index_units(struct debuginfo *d, Dwfl_Module *module)
{
	Dwarf_Die *die = NULL;
	Dwarf_Addr bias;
	struct unit *unit;

	while ((die = dwfl_module_nextcu(module, die, &bias))) {
		unit = op_vec_push(&d->units);
		if (!unit || ranges_add(&d->code, die, d->units.len - 1))
			return -ENOMEM;
		*unit = (struct unit){ 0 };
	}
	ranges_sort(&d->code);
	return d->code.items.len ? 0 : -ENOENT;
}

/* Load the debug info of the file itself or of a separate one, if it fits the budget. */
static int load(struct debuginfo *d, const char *path, int fd, Elf *elf)
{
	struct debug_memory own = memory_of_elf(elf);
	Dwarf_Addr bias = 0;

	if (!debug_budget_take(&d->room, &own) ||
	    (!own.suffices && !debug_budget_take_separate(&d->room, path, fd)) ||
	    !dwfl_module_getdwarf(d->module, &bias))
		return -ENOENT;
	d->bias = d->main_bias - bias;
	return index_units(d, d->module);
}

int debuginfo_open(const char *path, int file, struct op_tasks *tasks, uint64_t memory,
		   struct debuginfo **ret)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_budget_find_separate,
		.section_address = dwfl_offline_section_address,
	};
	struct debuginfo *d = calloc(1, sizeof(*d));
	_cleanup_close_ int fd = file, again = fcntl(file, F_DUPFD_CLOEXEC, 3);
	Dwfl_Module *module;
	int unpacked, r = -ENOENT;
	void **userdata;
	Elf *elf;

	if (!d)
		return -ENOMEM;
	d->room.tasks = tasks;
	d->room.memory = memory;
	d->room.copy = -1;
	(void)fstat(fd, &d->room.program);
	d->room.copied = op_task_is_copy(fd);
	d->before = memory_in_use();
	d->dwfl = dwfl_begin(&callbacks);
	unpacked = debug_unpack(fd, memory);
	if (unpacked >= 0) {
		op_closep(&fd);
		fd = unpacked;
	}
	/* libdw closes the descriptors that it was given */
	module = d->dwfl ? dwfl_report_offline(d->dwfl, "", path, fd) : NULL;
	if (module)
		fd = -1;
	if (module && dwfl_report_end(d->dwfl, NULL, NULL) == 0 &&
	    dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL)) {
		*userdata = &d->room;
		d->module = module;
		elf = dwfl_module_getelf(module, &d->main_bias);
		r = elf ? load(d, path, again, elf) : -ENOENT;
		if (r == -ENOENT && elf &&
		    (dwfl_module_getsymtab(module) > 0 || d->room.left_out))
			r = 0;
	}
	if (r) {
		(void)debuginfo_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct debuginfo *debuginfo_free(struct debuginfo *d)
{
	struct unit *unit;

	if (!d)
		return NULL;
	op_vec_foreach(unit, &d->units)
		op_vec_clear(&unit->functions.items);
	op_vec_clear(&d->units);
	op_vec_clear(&d->code.items);
	symbol_spans_clear(&d->symbols);
	free(d->name);
	if (d->dwfl)
		dwfl_end(d->dwfl);
	op_closep(&d->room.copy);
	free(d->room.copy_path);
	free(d);
	return NULL;
}

/* Does the .dwo file of a skeleton fit the budget, and may it be opened? libdw takes
 * the one beside the file with the skeleton, else the one where the compiler wrote it. */
static bool take_room_for_split(struct debuginfo *d, Dwarf_Die *skeleton)
{
	struct debug_memory more = { 0, 0, false };
	Dwarf_Attribute attribute;
	const char *name = NULL, *folder = NULL, *file = NULL, *slash;
	char path[PATH_MAX];
	int beside;

	if (dwarf_attr(skeleton, DW_AT_dwo_name, &attribute) ||
	    dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name || d->room.copied)
		return !name;
	if (dwarf_attr(skeleton, DW_AT_comp_dir, &attribute))
		folder = dwarf_formstring(&attribute);
	file = debuginfo_path(d);
	if (!file)
		(void)dwfl_module_info(d->module, NULL, NULL, NULL, NULL, NULL, &file,
				       NULL);
	slash = file ? strrchr(file, '/') : NULL;
	beside = slash ? (int)(slash + 1 - file) : 0;
	(void)snprintf(path, sizeof(path), "%.*s%s", *name == '/' ? 0 : beside, file,
		       name);
	if (!debug_budget_may_open(&d->room, path, &more))
		return false;
	if (!more.mapped && !more.unpacked && folder && *name != '/') {
		(void)snprintf(path, sizeof(path), "%.*s%s/%s",
			       *folder == '/' ? 0 : beside, file, folder, name);
		if (!debug_budget_may_open(&d->room, path, &more))
			return false;
	}
	return debug_budget_take(&d->room, &more);
}

/* When asked for the contents of a skeleton's .dwo file, libdw opens it by name. */
static Dwarf_Die split_unit(const struct debuginfo *d, const Dwarf_Die *skeleton)
{
	struct debug_rights own = debug_rights_of_owner(&d->room);
	Dwarf_Die split = { 0 };

	(void)dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL);
	debug_rights_return(own);
	return split;
}

/* Find the functions of the unit of @range, once: a program may have thousands of
 * units. */
static struct unit *index_unit(struct debuginfo *d, const struct range *range)
{
	struct unit *unit = &d->units.data[range->unit];
	Dwarf_Die split = { 0 };
	uint8_t type = 0;

	if (unit->indexed)
		return unit;
	unit->indexed = true;
	unit->die = range->die;
	if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton) {
		if (take_room_for_split(d, &unit->die))
			split = split_unit(d, &unit->die);
		unit->is_gone = !split.addr;
		unit->die = split;
	}
	if (unit->is_gone)
		d->units_gone++;
	else if (ranges_add_functions(&unit->functions, &unit->die) == 0)
		ranges_sort(&unit->functions);
	return unit;
}

/* The function that holds @pc, or NULL. */
static Dwarf_Die *function_of(const struct unit *unit, Dwarf_Addr pc)
{
	struct range *found = ranges_find(&unit->functions, pc);

	return found ? &found->die : NULL;
}

static uint32_t number_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

static uint32_t start_line(Dwarf_Die *die)
{
	int line = 0;

	return dwarf_decl_line(die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
}

/* The file in which a function is declared, or NULL. libdw's own dwarf_decl_file()
 * treats file 0 as none, also in DWARF 5. */
static const char *decl_file(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Half version;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t len;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
	    dwarf_formudata(&attribute, &number) != 0 ||
	    dwarf_cu_info(attribute.cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) !=
		    0 ||
	    (!number && version < DWARF_FILES_FROM_0) ||
	    dwarf_getsrcfiles(&unit, &files, &len) != 0 || number >= len)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* Get the place where an inlined function is called. */
static void go_to_call(Dwarf_Die *unit, Dwarf_Die *die, const char **file, uint32_t *line)
{
	uint32_t number = number_attribute(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t len;

	*line = number_attribute(die, DW_AT_call_line);
	*file = NULL;
	if (dwarf_getsrcfiles(unit, &files, &len) == 0 && number < len)
		*file = dwarf_filesrc(files, number, NULL, NULL);
}

/* Find the block or inlined function in @parent that holds @pc. */
static bool go_inwards(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *ret)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			if (dwarf_haspc(&child, pc) > 0) {
				*ret = child;
				return true;
			}
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* The functions inlined in @function at @pc, outermost first. */
static size_t inlined_at(Dwarf_Die *function, Dwarf_Addr pc,
			 Dwarf_Die ret[DEBUGINFO_LINES_MAX])
{
	Dwarf_Die at = *function, next;
	size_t n = 0;
	int depth;

	for (depth = 0; depth < NESTING_MAX && go_inwards(&at, pc, &next); depth++) {
		if (dwarf_tag(&next) == DW_TAG_inlined_subroutine) {
			if (n == DEBUGINFO_LINES_MAX - 1)
				break;
			ret[n++] = next;
		}
		at = next;
	}
	return n;
}

/* The line at @pc, or 0: compilers give none to instructions that they moved or merged. */
static uint32_t line_at(Dwarf_Die *unit, Dwarf_Addr pc, const char **ret_file)
{
	Dwarf_Line *at = dwarf_getsrc_die(unit, pc);
	int number = 0;

	if (!at || dwarf_lineno(at, &number) != 0 || number <= 0)
		return 0;
	*ret_file = dwarf_linesrc(at, NULL, NULL);
	return (uint32_t)number;
}

const char *debuginfo_path(const struct debuginfo *d)
{
	const char *path = NULL;

	(void)dwfl_module_info(d->module, NULL, NULL, NULL, NULL, NULL, NULL, &path);
	return path;
}

bool debuginfo_has_no_lines(const struct debuginfo *d)
{
	return !d->code.items.len;
}

/* Does the file define versions of its symbols? */
static bool defines_versions(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while (elf && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_GNU_verdef)
			return true;
	return false;
}

/* A name in the form in which names are recorded, so that one function has one name. */
static const char *without_version(struct debuginfo *d, const char *name)
{
	Dwarf_Addr bias;

	if (!strchr(name, '@'))
		return name;
	free(d->name);
	d->name = strdup(name);
	if (!d->name)
		return NULL;
	op_symbol_cut_version(d->name,
			      defines_versions(dwfl_module_getelf(d->module, &bias)));
	return d->name;
}

const char *debuginfo_name(struct debuginfo *d, uint64_t vaddr)
{
	Dwarf_Addr pc = vaddr + d->bias;
	struct range *range;
	Dwarf_Die *function;
	struct unit *unit;
	GElf_Off offset;
	const char *name;
	GElf_Sym sym;

	name = NULL;
	if (symbol_spans_has(&d->symbols, d->module, vaddr + d->main_bias))
		name = dwfl_module_addrinfo(d->module, vaddr + d->main_bias, &offset,
					    &sym, NULL, NULL, NULL);
	/* If the symbol before the address ends before it, it is another function's. */
	if (name && offset < sym.st_size)
		return without_version(d, name);
	range = ranges_find(&d->code, pc);
	unit = range ? index_unit(d, range) : NULL;
	function = unit && !unit->is_gone ? function_of(unit, pc) : NULL;
	if (!function)
		return NULL;
	name = linkage_name(function);
	return name ? name : dwarf_diename(function);
}

uint64_t debuginfo_left_out(const struct debuginfo *d)
{
	return d->room.left_out;
}

bool debuginfo_is_full(const struct debuginfo *d)
{
	uint64_t now = memory_in_use();
	/* Unpacked sections are on the heap. */
	uint64_t heap = now > d->before ? now - d->before : 0;

	return (heap > d->room.unpacked ? heap : d->room.unpacked) >
	       d->room.memory - d->room.mapped;
}

bool debuginfo_is_partial(const struct debuginfo *d)
{
	return d->units_gone;
}

bool debuginfo_is_packaged(const struct debuginfo *d)
{
	const char *file = debuginfo_path(d);
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (!file)
		(void)dwfl_module_info(d->module, NULL, NULL, NULL, NULL, NULL, &file,
				       NULL);
	if (d->units_gone && file &&
	    snprintf(path, sizeof(path), "%s.dwp", file) < (int)sizeof(path))
		fd = op_task_open_regular(d->room.tasks, path, OP_TASK_SERVED_REFUSE,
					  NULL);
	return fd >= 0;
}

size_t debuginfo_find(struct debuginfo *d, uint64_t vaddr,
		      struct debuginfo_line ret[DEBUGINFO_LINES_MAX])
{
	Dwarf_Die inlined[DEBUGINFO_LINES_MAX], *function;
	Dwarf_Addr pc = vaddr + d->bias;
	struct range *range = ranges_find(&d->code, pc);
	const char *file = NULL;
	struct unit *unit;
	size_t n = 0, i;
	uint32_t line;

	unit = range ? index_unit(d, range) : NULL;
	/* The line of inlined code would be shown as a line of the function around it. */
	if (!unit || unit->is_gone)
		return 0;
	line = line_at(&range->die, pc, &file);
	function = function_of(unit, pc);
	if (!line && !function)
		return 0;
	i = function ? inlined_at(function, pc, inlined) : 0;
	/* Without a line it is the same function, of the same file, as with one. */
	if (!line)
		file = decl_file(i ? &inlined[i - 1] : function);
	for (; i; i--) {
		ret[n++] = (struct debuginfo_line){
			.function = dwarf_diename(&inlined[i - 1]),
			.linkage = linkage_name(&inlined[i - 1]),
			.file = file,
			.line = line,
			.start_line = start_line(&inlined[i - 1]),
		};
		go_to_call(&unit->die, &inlined[i - 1], &file, &line);
	}
	ret[n++] = (struct debuginfo_line){
		.file = file,
		.line = line,
		.start_line = function ? start_line(function) : 0,
	};
	return n;
}
