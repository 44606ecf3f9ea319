/* SPDX-License-Identifier: Apache-2.0 */
/* The steps by which the kernel copies what names a file or a sub. */
#include "runtime/perl/text.h"

#include "runtime/perl/offsets.h"

#include "op_user_types.h"

#include "op_perl.h"

/* @bytes at the pointer @at bytes into piece number @piece. */
static struct op_object_step piece(uint8_t piece, uint8_t at, uint8_t bytes)
{
	return (struct op_object_step){ .piece = piece, .at = at, .bytes = bytes };
}

static struct op_object_step hek(uint8_t of, uint8_t at)
{
	struct op_object_step step = piece(of, at, HEK_TEXT + HEK_END);

	step.length_at = HEK_LEN;
	step.most = OP_PERL_NAME_MAX;
	return step;
}

/* A package, from step number @i on: the pointer to it is @at bytes into piece number
 * @of. Returns the number of the next step. */
static uint8_t set_package(const struct op_perl_layout *layout, uint8_t of, uint8_t at,
			   struct op_object_step *ret, uint8_t i)
{
	uint8_t head = i;
	uint8_t aux = layout->hash_aux;

	ret[i++] = piece(of, at, OP_PERL_SV_BYTES);
	ret[i++] = piece(head, 0, (uint8_t)(HV_BODY_BYTES + (aux ? AUX_BYTES : 0)));
	if (!aux) {
		ret[i++] = piece(head, OP_PERL_SV_POINTER, 8);
		ret[i] = piece((uint8_t)(i - 1), 8, AUX_BYTES); /* behind the array */
		ret[i].tag = (uint8_t)(i - 2);
		ret[i].width_at = OP_PERL_HV_MAX;
		ret[i++].most = OP_OBJECT_ELEMENT;
	}
	ret[i] = hek((uint8_t)(i - 1), aux);
	/* or it was a list of names */
	ret[i + 1] = hek(i, 0);
	return (uint8_t)(i + 2);
}

/* A glob, or another one to which it leads, whose head is piece number @of. */
static void set_glob(const struct op_perl_layout *layout, uint8_t of,
		     struct op_object_step *ret)
{
	uint8_t body = (uint8_t)(of + 1);
	uint8_t next;

	ret[body] = piece(of, 0, GV_BODY_BYTES);
	next = set_package(layout, body, OP_PERL_GV_NAME + 8, ret, (uint8_t)(body + 1));
	ret[next] = hek(body, OP_PERL_GV_NAME);
}

void op_runtime_perl_steps(const struct op_perl_layout *layout, struct op_perl *ret)
{
	uint8_t next;

	ret->file[0].bytes = OP_PERL_FILE_COPIED;
	ret->glob[0].bytes = OP_PERL_SV_BYTES;
	set_glob(layout, 0, ret->glob);
	ret->effective[0].bytes = OP_PERL_SV_BYTES;
	ret->effective[1] = piece(0, OP_PERL_SV_POINTER, OP_PERL_GP_EFFECTIVE + 8);
	ret->effective[2] = piece(1, OP_PERL_GP_EFFECTIVE, OP_PERL_SV_BYTES);
	set_glob(layout, 2, ret->effective);
	ret->cv[0].bytes = OP_PERL_SV_BYTES;
	ret->cv[1] = piece(0, 0, CV_BODY_BYTES);
	next = set_package(layout, 1, OP_PERL_CV_STASH, ret->cv, 2);
	ret->cv[next] = hek(1, OP_PERL_CV_NAME);
}
