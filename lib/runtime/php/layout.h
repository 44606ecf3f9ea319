/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of PHP's objects: php.layout has a section for each minor version. PHP's
 * binary interface does not change within a minor version (ZEND_MODULE_API_NO), and
 * nothing publishes it. Only builds without thread safety (NTS) are supported.
 */
#ifndef OP_RUNTIME_PHP_LAYOUT_H
#define OP_RUNTIME_PHP_LAYOUT_H

#include <stdint.h>

#include "runtime/layouts.h"

/* Offsets in bytes. */
struct op_php_layout {
	uint16_t current; /* in zend_executor_globals: current_execute_data */

	uint8_t function_bytes; /* bytes read of a zend_op_array */
	uint8_t last;		/* zend_op_array: number of instructions */
	uint8_t opcodes;
	uint8_t filename;
	uint8_t line_start; /* first line; the last line is 4 bytes further */
	/* in zend_executor_globals; 0: unknown, or PHP has no fibers */
	uint16_t active_fiber;
	uint16_t fiber_context; /* in zend_fiber */
	uint16_t fiber_caller;
	uint16_t fiber_bottom;
};

/* Offsets that have been the same since PHP 7.0. */
enum {
	OP_PHP_FRAME_OPLINE = 0, /* zend_execute_data */
	OP_PHP_FRAME_FUNCTION = 24,
	OP_PHP_FRAME_INFO = 40,
	OP_PHP_FRAME_PREVIOUS = 48,
	OP_PHP_FUNCTION_TYPE = 0, /* zend_function */
	OP_PHP_FUNCTION_FLAGS = 4,
	OP_PHP_OP_LINE = 24,	/* zend_op */
	OP_PHP_STRING_TYPE = 4, /* zend_string */
	OP_PHP_STRING_LENGTH = 16,
	OP_PHP_FUNCTION_BYTES_MAX = 184,
};

/* zend_function.type */
enum op_php_type {
	OP_PHP_FUNCTION_INTERNAL = 1,
	OP_PHP_FUNCTION_USER = 2,
	OP_PHP_FUNCTION_EVAL = 4,
};

extern const struct op_layouts_schema op_runtime_php_layouts;

/* The text of php.layout. */
extern const unsigned char op_runtime_php_layout_text[];
extern const size_t op_runtime_php_layout_text_len;

#endif
