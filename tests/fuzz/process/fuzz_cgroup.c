/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of /proc/PID: cgroup paths, mounts, environments, stat. What is found has its shape. */
#include <stdint.h>
#include <string.h>

#include "process/resource/container.h"
#include "process/resource/environment.h"
#include "process/resource/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz-";

static void check_container(const char *text, size_t size, const struct op_container *c)
{
	size_t id = strnlen(c->id, sizeof(c->id));
	size_t uid = strnlen(c->pod_uid, sizeof(c->pod_uid));
	size_t name = strnlen(c->name, sizeof(c->name));

	if (!id && !uid && !name)
		__builtin_trap();
	if (id == sizeof(c->id) || uid == sizeof(c->pod_uid) || name == sizeof(c->name) ||
	    (id && name))
		__builtin_trap();
	if (id &&
	    (id < 25 || strspn(c->id, digits) != id || !memmem(text, size, c->id, id)))
		__builtin_trap();
	if (uid && ((uid != 32 && uid != 36) || strspn(c->pod_uid, digits) != uid))
		__builtin_trap();
}

static void check_claims(const struct op_resource_attributes *c)
{
	size_t at = 0;
	uint32_t n = 0;

	if (c->len > OP_RESOURCE_ATTRIBUTES_MAX ||
	    c->text.len > OP_RESOURCE_ATTRIBUTES_BYTES_MAX ||
	    strnlen(c->service_name, sizeof(c->service_name)) == sizeof(c->service_name))
		__builtin_trap();
	for (; at < c->text.len; n++) {
		size_t key = strlen(c->text.data + at);

		if (!key || key > OP_RESOURCE_KEY_MAX)
			__builtin_trap();
		at += key + 1;
		at += strlen(c->text.data + at) + 1;
	}
	if (at != c->text.len || n != c->len)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(op_resource_attributes_put_refp) struct op_resource_attributes
		*attributes = op_resource_attributes_new();
	const char *text = (const char *)data;
	struct op_container c;
	struct op_stat st;
	size_t len;
	bool unified;

	if (op_container_of_text(text, size, &c, &unified))
		check_container(text, size, &c);
	if (op_container_of_mountinfo(text, size, &c))
		check_container(text, size, &c);
	(void)op_container_hidden(text, size);
	(void)op_container_unified_path(text, size, &len);
	if (attributes) {
		op_environ_attributes(text, size, attributes);
		op_environ_variable(text, size, "HOME", attributes);
		check_claims(attributes);
	}
	(void)op_stat_of(text, size, 100, &st);
	return 0;
}
