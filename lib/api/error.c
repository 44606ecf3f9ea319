/* SPDX-License-Identifier: Apache-2.0 */
/* The text of error codes. */
#include <errno.h>
#include <string.h>

#include "api/handle.h"
#include "api/settings/config.h"

const char *otelprof_strerror(int code)
{
	const char *name;

	switch (code < 0 ? -code : code) {
	case OTELPROF_E_NO_BTF:
		return "The kernel lacks BTF";
	case OTELPROF_E_VERIFIER:
		return "The kernel's verifier refused a program";
	case OTELPROF_E_CAPABILITY:
		return "A capability is missing";
	case OTELPROF_E_MODULE:
		return "A module of the library could not be loaded";
	case OTELPROF_E_FORKED:
		return "The handle belongs to the parent process";
	default:
		name = strerrordesc_np(code < 0 ? -code : code);
		return name ? name : "Unknown error";
	}
}
