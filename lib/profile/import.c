/* SPDX-License-Identifier: Apache-2.0 */
/* Copies entries between windows, recursively from a stack or a resource down. */
#include "profile/import.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "profile/window_tables.h"

static int import_string(struct op_window *to, const struct op_window *from,
			 uint32_t string, uint32_t *ret)
{
	return op_window_string(to, op_window_chars(from, string),
				from->strings.data[string].len, ret);
}

static int import_attribute(struct op_window *to, const struct op_window *from,
			    uint32_t attribute, uint32_t *ret)
{
	struct op_attribute a = from->attributes.data[attribute];
	int r = import_string(to, from, a.key, &a.key);

	if (r == 0 && !a.is_int)
		r = import_string(to, from, a.string, &a.string);
	if (r == 0)
		r = import_string(to, from, a.unit, &a.unit);
	return r < 0 ? r : op_window_attribute(to, &a, ret);
}

static int import_attributes(struct op_window *to, const struct op_window *from,
			     struct op_span span, struct op_attribute_set *ret)
{
	const uint32_t *index = op_window_numbers(from, span);
	uint32_t i;
	int r = 0;

	ret->len = OP_MIN(span.len, (uint32_t)OP_ATTRIBUTES_MAX);
	for (i = 0; i < ret->len && r == 0; i++)
		r = import_attribute(to, from, index[i], &ret->index[i]);
	return r;
}

static int import_function(struct op_window *to, const struct op_window *from,
			   uint32_t function, uint32_t *ret)
{
	struct op_function f = from->functions.data[function];
	int r = import_string(to, from, f.name, &f.name);

	if (r == 0)
		r = import_string(to, from, f.system_name, &f.system_name);
	if (r == 0)
		r = import_string(to, from, f.file, &f.file);
	return r < 0 ? r : op_window_function(to, &f, ret);
}

static int import_mapping(struct op_window *to, const struct op_window *from,
			  uint32_t mapping, uint32_t *ret)
{
	const struct op_mapping_entry *e = &from->mappings.data[mapping];
	struct op_window_mapping m = { .start = e->start,
				       .limit = e->limit,
				       .offset = e->offset };
	int r = import_string(to, from, e->file, &m.file);

	if (r == 0)
		r = import_attributes(to, from, e->attributes, &m.attributes);
	return r < 0 ? r : op_window_mapping(to, &m, ret);
}

static int import_location(struct op_window *to, const struct op_window *from,
			   uint32_t location, uint32_t *ret)
{
	const struct op_location_entry *e = &from->locations.data[location];
	struct op_location l = { .address = e->address,
				 .lines_len =
					 OP_MIN(e->lines.len, (uint32_t)OP_LINES_MAX) };
	uint32_t i;
	int r = import_mapping(to, from, e->mapping, &l.mapping);

	for (i = 0; i < l.lines_len && r == 0; i++) {
		l.lines[i] = from->lines.data[e->lines.first + i];
		r = import_function(to, from, l.lines[i].function, &l.lines[i].function);
	}
	if (r == 0)
		r = import_attributes(to, from, e->attributes, &l.attributes);
	return r < 0 ? r : op_window_location(to, &l, ret);
}

int op_window_import_stack(struct op_window *to, const struct op_window *from,
			   uint32_t stack, uint32_t *ret)
{
	struct op_span span = from->stacks.data[stack];
	const uint32_t *location = op_window_numbers(from, span);
	_cleanup_free_ uint32_t *list = NULL;
	uint32_t i;
	int r = 0;

	list = calloc((size_t)span.len + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < span.len && r == 0; i++)
		r = import_location(to, from, location[i], &list[i]);
	return r < 0 ? r : op_window_stack(to, list, span.len, ret);
}

int op_window_import_resource(struct op_window *to, const struct op_window *from,
			      uint32_t resource, uint32_t *ret)
{
	struct op_resource x = from->resources.data[resource];
	uint32_t *const strings[] = { &x.container_id,	  &x.container_name,
				      &x.pod_uid,	  &x.executable_name,
				      &x.executable_path, &x.service_name,
				      &x.command_args,	  &x.attributes,
				      &x.cgroup_path };
	size_t i;
	int r = 0;

	for (i = 0; i < OP_ARRAY_SIZE(strings) && r == 0; i++)
		r = import_string(to, from, *strings[i], strings[i]);
	return r < 0 ? r : op_window_resource(to, &x, ret);
}
