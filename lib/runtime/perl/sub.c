/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/perl/sub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

static struct op_perl_sub *sub_free(struct op_perl_sub *sub)
{
	if (sub) {
		free(sub->name);
		free(sub);
	}
	return NULL;
}
OP_DEFINE_CLEANUP(struct op_perl_sub *, sub_free)

static void object_free(void *object)
{
	sub_free(object);
}

static size_t sub_bytes(const void *object)
{
	const struct op_perl_sub *sub = object;

	return sizeof(*sub) + (size_t)(sub->file - sub->name) + strlen(sub->file) + 1;
}

static const struct op_objects_kind kind = {
	.max = OP_PERL_SUBS_MAX,
	.bytes_max = OP_PERL_SUBS_BYTES,
	.bytes = sub_bytes,
	.free = object_free,
};

void op_runtime_perl_subs_init(struct op_perl_subs *subs, const struct op_memory *memory,
			       const struct op_perl_layout *layout, bool globs)
{
	*subs = (struct op_perl_subs){
		.read = { .memory = memory, .layout = layout, .globs = globs },
		.objects = op_objects_init(&kind),
	};
}

void op_runtime_perl_subs_deinit(struct op_perl_subs *subs)
{
	op_objects_deinit(&subs->objects);
}

static uint64_t key_of(const uint64_t word[OP_PERL_FRAME_WORDS])
{
	return op_object_id(op_object_id(word[0], word[1]), word[2]);
}

/* The entry of frames with these words, or NULL. */
static struct op_perl_sub *find(const struct op_perl_subs *subs,
				const uint64_t word[OP_PERL_FRAME_WORDS],
				uint64_t *ret_at)
{
	struct op_perl_sub *sub = op_objects_find(&subs->objects, key_of(word), ret_at);

	/* another one may have the same key */
	return sub && memcmp(sub->word, word, sizeof(sub->word)) == 0 ? sub : NULL;
}

static int read_sub_name(const struct op_perl_subs *subs,
			 const uint64_t word[OP_PERL_FRAME_WORDS], struct op_strbuf *text)
{
	bool named = word[2] >> OP_PERL_KIND_SHIFT & OP_PERL_NAMED;
	uint32_t check = (uint32_t)(word[1] >> 32);
	int r = 0;

	if (check && !subs->copy)
		r = op_runtime_perl_is(&subs->read, word[0], named, check);
	if (r < 0)
		return r;
	return named ? op_runtime_perl_cv(&subs->read, word[0], text)
		     : op_runtime_perl_glob(&subs->read, word[0], text);
}

/* Append the name of a frame with these words. */
static int read_name(const struct op_perl_subs *subs,
		     const uint64_t word[OP_PERL_FRAME_WORDS], struct op_strbuf *text)
{
	static const char *const names[] = {
		[OP_PERL_EVAL] = "(eval)",
		[OP_PERL_FILE] = "(file)",
		[OP_PERL_FORMAT] = "(format)",
		[OP_PERL_MAIN] = "(main)",
	};
	uint32_t is = word[2] >> OP_PERL_KIND_SHIFT & OP_PERL_KIND_MASK;
	const uint64_t kept[OP_PERL_FRAME_WORDS] = {
		word[0], word[1],
		word[2] & (uint64_t)(OP_PERL_KIND_MASK | OP_PERL_NAMED)
				  << OP_PERL_KIND_SHIFT
	};
	const struct op_perl_sub *sub;
	uint64_t at;

	if (is >= OP_ARRAY_SIZE(names))
		return -EBADMSG;
	if (is != OP_PERL_SUB) {
		op_strbuf_puts(text, names[is]);
		return 0;
	}
	sub = find(subs, kept, &at);
	if (!sub || !sub->copied)
		return read_sub_name(subs, word, text);
	op_strbuf_puts(text, sub->name);
	return 0;
}

static int read_sub(const struct op_perl_subs *subs,
		    const uint64_t word[OP_PERL_FRAME_WORDS], struct op_perl_sub **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	_cleanup_(sub_freep) struct op_perl_sub *sub = calloc(1, sizeof(*sub));
	size_t file;
	int r;

	if (!sub)
		return -ENOMEM;
	memcpy(sub->word, word, sizeof(sub->word));
	sub->window = subs->window;
	sub->copied = subs->copy;
	r = read_name(subs, word, &text);
	if (r < 0)
		return r;
	op_strbuf_add(&text, "", 1);
	file = text.len;
	if (word[2] >> OP_PERL_KIND_SHIFT & OP_PERL_TEXT)
		op_strbuf_puts(&text, "(eval)");
	else
		r = op_runtime_perl_file(&subs->read, word[2] & OP_PERL_ADDRESS_MASK,
					 &text);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		text.len = file; /* keep the name without a file */
	op_strbuf_add(&text, "", 1);
	if (text.failed)
		return -ENOMEM;
	sub->name = OP_TAKE_PTR(text.data);
	sub->file = sub->name + file;
	*ret = OP_TAKE_PTR(sub);
	return 0;
}

int op_runtime_perl_subs_get(struct op_perl_subs *subs,
			     const uint64_t words[OP_PERL_FRAME_WORDS],
			     const struct op_perl_sub **ret)
{
	const uint64_t word[OP_PERL_FRAME_WORDS] = { words[0] & OP_FRAME_ADDRESS_MASK,
						     words[1] >> 32 << 32, words[2] };
	_cleanup_(sub_freep) struct op_perl_sub *made = NULL;
	struct op_perl_sub *sub;
	uint64_t at;
	int r;

	op_objects_begin(&subs->objects);
	sub = find(subs, word, &at);
	if (sub && (sub->copied || sub->window == subs->window)) {
		*ret = sub;
		return 0;
	}
	r = read_sub(subs, word, &made);
	if (r < 0 && (r == -ENOMEM || !sub))
		return r;
	/* what was freed belonged to the frame; an identity says so of a file too */
	if (r < 0 || (sub && word[1] && !*made->file)) {
		sub->window = subs->window;
		*ret = sub;
		return 0;
	}
	subs->reads++;
	*ret = made;
	return op_objects_keep(&subs->objects, key_of(word), OP_TAKE_PTR(made), at);
}

int op_runtime_perl_subs_keep(struct op_perl_subs *subs, uint64_t addr, uint32_t check,
			      const struct op_memory *copy)
{
	static const uint64_t kinds[] = {
		[OP_PERL_OBJECT_FILE] = OP_PERL_FILE,
		[OP_PERL_OBJECT_GLOB] = OP_PERL_SUB,
		[OP_PERL_OBJECT_CV] = OP_PERL_SUB | OP_PERL_NAMED,
	};
	uint32_t is = check & OP_PERL_OBJECT_MASK;
	const uint64_t word[OP_PERL_FRAME_WORDS] = {
		addr, (uint64_t)check << 32,
		kinds[is] << OP_PERL_KIND_SHIFT | (is == OP_PERL_OBJECT_FILE ? addr : 0)
	};
	const struct op_perl_subs of = {
		.read = { .memory = copy, .layout = subs->read.layout }, .copy = true
	};
	struct op_perl_sub *made;
	struct op_perl_sub *sub;
	uint64_t at;
	int r;

	op_objects_begin(&subs->objects);
	sub = find(subs, word, &at);
	if (sub && sub->copied)
		return 0;
	r = read_sub(&of, word, &made);
	return r < 0 ? r : op_objects_keep(&subs->objects, key_of(word), made, at);
}
