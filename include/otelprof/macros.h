/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and C++ guards of the public headers. */
#ifndef OTELPROF_MACROS_H
#define OTELPROF_MACROS_H

#if defined(__GNUC__)
#define OTELPROF_API	    __attribute__((visibility("default")))
#define OTELPROF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define OTELPROF_API
#define OTELPROF_MUST_CHECK
#endif

#ifdef __cplusplus
#define OTELPROF_BEGIN_DECLS extern "C" {
#define OTELPROF_END_DECLS   }
#else
#define OTELPROF_BEGIN_DECLS
#define OTELPROF_END_DECLS
#endif

#endif
