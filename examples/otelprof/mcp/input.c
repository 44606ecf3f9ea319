/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

int input_init(struct input *in)
{
	*in = (struct input){ .bytes = malloc(INPUT_LINE_BYTES + 1) };
	return in->bytes ? 0 : -ENOMEM;
}

void input_deinit(struct input *in)
{
	free(in->bytes);
}

void input_fill(struct input *in)
{
	size_t room = INPUT_LINE_BYTES + 1 - in->len;
	ssize_t n;

	if (!room) {
		/* no newline in the whole buffer */
		in->skipping = true;
		in->len = in->searched = 0;
		room = INPUT_LINE_BYTES + 1;
	}
	n = read(STDIN_FILENO, in->bytes + in->len, room);
	if (n > 0) {
		in->len += (size_t)n;
		return;
	}
	if (n < 0 && errno == EINTR && !signal_seen())
		return;
	in->ended = true;
	/* the last line may have no newline */
	if (!n && (in->len || in->skipping) && in->len <= INPUT_LINE_BYTES)
		in->bytes[in->len++] = '\n';
}

ssize_t input_take(struct input *in, char *ret)
{
	const char *end = memchr(in->bytes + in->searched, '\n', in->len - in->searched);
	bool skipped = in->skipping;
	size_t len;

	in->searched = in->len;
	if (!end)
		return -EAGAIN;
	len = (size_t)(end - in->bytes);
	memcpy(ret, in->bytes, len);
	ret[len] = 0;
	in->len -= len + 1;
	memmove(in->bytes, end + 1, in->len);
	in->searched = 0;
	in->skipping = false;
	return skipped || len >= INPUT_LINE_BYTES ? -EFBIG : (ssize_t)len;
}
