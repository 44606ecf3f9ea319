/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says beside its status code. All of it is foreign. */
#ifndef OP_TRANSPORT_REPLY_H
#define OP_TRANSPORT_REPLY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Read an ExportProfilesServiceResponse: the profiles it refused, and its words into
 * @message (cut to @cap, always terminated). Returns 0, or -EBADMSG.
 */
int op_reply_parse(const void *bytes, size_t len, uint64_t *ret_rejected, char *message,
		   size_t cap);

/*
 * The delay of the RetryInfo in a google.rpc.Status (the trailer
 * grpc-status-details-bin), in milliseconds rounded up; -1 where there is none.
 */
int64_t op_reply_retry_delay_ms(const void *bytes, size_t len);

/* The words of a google.rpc.Status, cut to @cap; "" where it has none or is no such. */
void op_reply_status_message(const void *bytes, size_t len, char *ret, size_t cap);

/* Copy foreign text of @len bytes: cut, terminated, control characters made blanks. */
void op_reply_copy_text(const void *text, size_t len, char *ret, size_t cap);

/* The Profile messages in an ExportProfilesServiceRequest. */
uint64_t op_reply_count_profiles(const void *request, size_t len);

#endif
