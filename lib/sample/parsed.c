/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/parsed.h"

#include <errno.h>
#include <string.h>

#include "sample/state.h"

_Static_assert(OP_RECORD_WORDS >= OP_KEY_WORDS + OP_KERNEL_FRAMES_MAX + OP_USER_WORDS_MAX,
	       "the scratch holds a key and any record");

/* Read the context of a record, and its text, of which @left bytes are there. */
static int read_context(const uint8_t *bytes, size_t left, struct op_parsed *ret)
{
	size_t len = ret->header.context_bytes;

	ret->text = NULL;
	if (len == sizeof(ret->context) + OP_TEXT_BYTES && len <= left) {
		len -= OP_TEXT_BYTES;
		ret->text = (const char *)bytes + len;
	}
	return op_trace_contexts_read(bytes, left, len, &ret->context);
}

/* Read what op_sampler_join() has put behind a record: @left bytes. */
static void read_joined(const uint8_t *pos, size_t left, struct op_parsed *ret)
{
	uint64_t words[2];

	if (left < sizeof(words))
		return;
	memcpy(words, pos, sizeof(words));
	pos += sizeof(words);
	left -= sizeof(words);
	if (words[1] > left)
		return;
	if (words[1]) {
		ret->root_at = words[0];
		ret->root_len = (size_t)words[1];
		ret->root = pos;
	}
	ret->chain_len = left - (size_t)words[1];
	if (ret->chain_len)
		ret->chain = pos + words[1];
}

int op_parsed_read(struct op_sampler *sampler, const void *bytes, size_t len,
		   struct op_parsed *ret)
{
	const uint8_t *pos = bytes;
	size_t words;
	size_t left = len;

	if (left < sizeof(ret->header))
		return -EBADMSG;
	memcpy(&ret->header, pos, sizeof(ret->header));
	pos += sizeof(ret->header);
	left -= sizeof(ret->header);
	words = (size_t)ret->header.kernel_count + ret->header.user_words;
	if (ret->header.kernel_count > OP_KERNEL_FRAMES_MAX ||
	    ret->header.user_words > OP_USER_WORDS_MAX ||
	    words * sizeof(uint64_t) > left || ret->header.event >= OP_EVENT_MAX)
		return -EBADMSG;
	ret->words = sampler->words + OP_KEY_WORDS;
	ret->extra = 0;
	ret->live = false;
	memcpy(ret->words, pos, words * sizeof(uint64_t));
	pos += words * sizeof(uint64_t);
	left -= words * sizeof(uint64_t);
	if (read_context(pos, left, ret) < 0)
		return -EBADMSG;
	pos += ret->header.context_bytes;
	left -= ret->header.context_bytes;
	ret->stack = NULL;
	ret->root = NULL;
	ret->root_len = 0;
	ret->root_at = 0;
	ret->chain = NULL;
	ret->chain_len = 0;
	ret->unread = ret->header.stack_below & OP_STACK_UNREAD;
	ret->header.stack_below &= (uint8_t)~OP_STACK_UNREAD;
	if (ret->header.end != OP_END_UNKNOWN)
		return 0;
	if (left < sizeof(ret->registers) ||
	    left - sizeof(ret->registers) < ret->header.stack_bytes)
		return -EBADMSG;
	memcpy(&ret->registers, pos, sizeof(ret->registers));
	ret->stack = pos + sizeof(ret->registers);
	read_joined(ret->stack + ret->header.stack_bytes,
		    left - sizeof(ret->registers) - ret->header.stack_bytes, ret);
	return 0;
}
