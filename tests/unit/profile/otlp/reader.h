/* SPDX-License-Identifier: Apache-2.0 */
/* Reads requests back with nanopb: the rules of OTLP profiles, and samples as text. */
#ifndef READER_H
#define READER_H

#include "model.h"
#include "profiles_service.pb.h"

/* Decode @bytes, check every rule of one request; its samples as text go to @ret. */
void reader_check(const void *bytes, size_t len, const char *version, struct lines *ret);

#endif
