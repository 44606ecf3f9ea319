/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of sv.h, gv.h, cv.h and hv.h, which are the same since Perl 5.22. op_perl.h has those
 * that the step needs too. */
#ifndef OP_RUNTIME_PERL_OFFSETS_H
#define OP_RUNTIME_PERL_OFFSETS_H

enum {
	/* the head of every SV */
	SV_FLAGS = 12,
	SV_TYPE_MASK = 0xff,
	TYPE_GV = 9,
	TYPE_HV = 12,
	GV_HAS_GP = 0x8000,
	HV_HAS_AUX = 0x02000000,
	GV_BODY_BYTES = 48,
	CV_BODY_BYTES = 96,
	/* a hash's body, and its struct xpvhv_aux */
	HV_BODY_BYTES = 32,
	AUX_NAME_COUNT = 28,
	AUX_BYTES = 32,
	/* HEK */
	HEK_LEN = 4,
	HEK_TEXT = 8,
	HEK_END = 2,  /* its NUL and its flags */
	HEK_UTF8 = 1, /* a flag in the byte after the text and its NUL */
};

#endif
