/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of /proc/PID: cgroup paths, environments, stat. What is found has its shape. */
#include <stdint.h>
#include <string.h>

#include "process/container.h"
#include "process/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char service[OP_SERVICE_NAME_MAX];
	char id[OP_CONTAINER_ID_MAX];
	uint64_t ns;
	bool unified;

	if (op_container_of_text(text, size, id, &unified)) {
		size_t len = strnlen(id, sizeof(id));

		if (len < 34 || len > 64 || strspn(id, "0123456789abcdef-") != len)
			__builtin_trap();
		/* it stands in the text */
		if (!memmem(text, size, id, len))
			__builtin_trap();
	}
	if (op_service_name_of(text, size, service) &&
	    (!service[0] || strnlen(service, sizeof(service)) == sizeof(service)))
		__builtin_trap();
	(void)op_start_time_of(text, size, 100, &ns);
	return 0;
}
