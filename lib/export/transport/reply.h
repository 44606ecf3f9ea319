/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what a server returns in addition to its status code. All of it is
 * foreign data. */
#ifndef OP_EXPORT_TRANSPORT_REPLY_H
#define OP_EXPORT_TRANSPORT_REPLY_H

#include <stddef.h>
#include <stdint.h>

/* Parse an ExportProfilesServiceResponse: the number of profiles it refused, and its text
 * into @message (cut to @cap, always terminated). Returns 0 or -EBADMSG. */
int op_reply_parse(const void *bytes, size_t len, uint64_t *ret_rejected, char *message,
		   size_t cap);

/* The delay of the RetryInfo in a google.rpc.Status (the trailer
 * grpc-status-details-bin), in milliseconds, rounded up; -1 if there is none. */
int64_t op_reply_retry_delay_ms(const void *bytes, size_t len);

/* The text of a google.rpc.Status, cut to @cap; "" if it has none or is not a Status. */
void op_reply_status_message(const void *bytes, size_t len, char *ret, size_t cap);

/* Copy foreign text of @len bytes: cut and terminated, with control characters made
 * blanks. */
void op_reply_copy_text(const void *text, size_t len, char *ret, size_t cap);

/* The number of Profile messages in an ExportProfilesServiceRequest. */
uint64_t op_reply_count_profiles(const void *request, size_t len);

#endif
