/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors. Every call returns 0 or more for success. A failure is a negative errno, or a
 * code below if no errno fits. A code keeps its number and its meaning.
 */
#ifndef OTELPROF_ERROR_H
#define OTELPROF_ERROR_H

#include <otelprof/config.h>

OTELPROF_BEGIN_DECLS

/* Values of otelprof_error_info.code that are not an errno, negated. */
#define OTELPROF_E_BASE	      10000 /* above errno (4095) and libbpf's codes (4013) */
#define OTELPROF_E_NO_BTF     10001 /* the kernel lacks BTF (CONFIG_DEBUG_INFO_BTF) */
#define OTELPROF_E_VERIFIER   10002 /* the verifier refused a program, see the detail */
#define OTELPROF_E_CAPABILITY 10003 /* a capability is missing, the detail names it */
#define OTELPROF_E_MODULE     10004 /* a module, such as for gRPC, could not be loaded */
#define OTELPROF_E_FORKED     10005 /* the handle was made before fork() */

/** Why a call failed. A plain value, with nothing to free. */
struct otelprof_error_info {
	size_t size;  /* of this struct, set by the caller */
	int32_t code; /* the negative number that the call returned */
	uint32_t reserved0;
	char message[512]; /* one sentence: what, where, and what to do about it */
	char detail[3072]; /* longer text such as the end of a verifier's log, or "" */
};

/** The text for an error code. A static string, never NULL. */
OTELPROF_API const char *otelprof_strerror(int code);

/** Why the last call on @p failed, in any thread. otelprof_init() has @why. Returns 0;
 * -EINVAL for a NULL @p or a NULL or short @ret; -ENODATA if no call has failed yet. */
OTELPROF_API int otelprof_last_error(struct otelprof *p, struct otelprof_error_info *ret);

OTELPROF_END_DECLS
#endif
