/* SPDX-License-Identifier: Apache-2.0 */
/* Finds CPython's version, interpreter loop and thread state in an executable. */
#include "runtime/python/image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "runtime/cold_part.h"
#include "runtime/exports.h"
#include "runtime/python/tasks.h"

enum symbol {
	LOOP,
	LOOP_COLD,
	STATE_FUNCTION,
	CODE_TYPE,
	NONE,
	RUNTIME,
	CURRENT,
	COROUTINE_TYPE,
	GENERATOR_TYPE,
	ASYNCGEN_TYPE,
	ASEND_TYPE,
	VERSION,
	OLD_LOOP,
	/* functions that a version added, which distinguish 3.6 to 3.10 */
	SINCE_3_7,
	SINCE_3_8,
	SINCE_3_9,
	SINCE_3_10,
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[LOOP] = "_PyEval_EvalFrameDefault",
	[LOOP_COLD] = "_PyEval_EvalFrameDefault.cold",
	[STATE_FUNCTION] = "PyGILState_GetThisThreadState",
	[CODE_TYPE] = "PyCode_Type",
	[NONE] = "_Py_NoneStruct",
	[RUNTIME] = "_PyRuntime",
	[CURRENT] = "_PyThreadState_Current", /* 3.6 */
	[COROUTINE_TYPE] = "PyCoro_Type",
	[GENERATOR_TYPE] = "PyGen_Type",
	[ASYNCGEN_TYPE] = "PyAsyncGen_Type",
	[ASEND_TYPE] = "_PyAsyncGenASend_Type",
	[VERSION] = "Py_Version",
	[OLD_LOOP] = "PyEval_EvalFrameEx",
	[SINCE_3_7] = "PyThread_tss_get",
	[SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[SINCE_3_9] = "PyFrame_GetBack",
	[SINCE_3_10] = "Py_NewRef",
};

enum {
	/* Bytes of the accessor to decode if the symbol table gives no size. */
	STATE_BYTES = 64,
	LOOP_BYTES_MAX = 1 << 20,
};

static bool name_says_python(const char *path)
{
	const char *base = op_base_name(path);

	return strncmp(base, "python", 6) == 0 || strncmp(base, "libpython", 9) == 0;
}

/* Returns 1 with *@ret, 0 if no symbol shows the version, or -errno. */
static int find_version(struct op_elf *elf, const struct op_elf_symbol *symbol,
			uint16_t *ret)
{
	uint32_t hex;
	int r;

	if (symbol[VERSION].value) { /* PY_VERSION_HEX, since 3.11 */
		r = op_elf_read_vaddr(elf, symbol[VERSION].value, &hex, sizeof(hex));
		if (r < 0)
			return r;
		*ret = (uint16_t)(hex >> 16);
		return 1;
	}
	*ret = symbol[SINCE_3_10].value	 ? 0x030a
	       : symbol[SINCE_3_9].value ? 0x0309
	       : symbol[SINCE_3_8].value ? 0x0308
	       : symbol[SINCE_3_7].value ? 0x0307
					 : 0x0306;
	return 1;
}

/* Returns 0; -ENOENT if no section has the version; -ENOTSUP if the file contradicts the
 * section; -errno. */
static int find_layout(struct op_elf *elf, const struct op_elf_symbol *runtime,
		       uint16_t version, const struct op_layouts *layouts,
		       struct op_python_layout *ret)
{
	uint8_t bytes[OP_PYTHON_PUBLISHED_MAX];
	int r = op_layouts_find_number(layouts, &op_runtime_python_layouts, version, ret);

	if (r < 0 || !ret->published[0])
		return r;
	if (!runtime->value)
		return -ENOTSUP;
	r = op_elf_read_vaddr(elf, runtime->value, bytes, sizeof(bytes));
	if (r < 0)
		return r;
	r = op_runtime_python_layout_published(bytes, sizeof(bytes), version, ret);
	return r == -EBADMSG ? -ENOTSUP : r;
}

/* Where the interpreter has the PyThreadState that runs. 0: not known. Only on x86-64:
 * elsewhere a thread's pointer is not its id. */
static uint64_t find_current(const struct op_python_image *image,
			     const struct op_elf_symbol *symbol)
{
	if (image->machine != EM_X86_64)
		return 0;
	if (symbol[CURRENT].value)
		return symbol[CURRENT].value;
	return symbol[RUNTIME].value && image->layout.runtime_current
		       ? symbol[RUNTIME].value + image->layout.runtime_current
		       : 0;
}

static void find_loop(struct op_elf *elf, const struct op_elf_symbol *symbol,
		      struct op_log *log, struct op_runtime_loop *ret)
{
	const struct op_elf_symbol *loop = &symbol[LOOP];
	const struct op_elf_symbol *cold = &symbol[LOOP_COLD];
	uint64_t range[2];
	int r;

	*ret = (struct op_runtime_loop){ .count = 1 };
	ret->range[0][0] = loop->value;
	ret->range[0][1] = loop->value + loop->size;
	if (cold->value && cold->size) {
		ret->count = 2;
		ret->range[1][0] = cold->value;
		ret->range[1][1] = cold->value + cold->size;
		return;
	}
	r = op_runtime_cold_part(elf, loop->value, loop->value + loop->size, range);
	if (r == 1) {
		ret->count = 2;
		memcpy(ret->range[1], range, sizeof(range));
	} else if (r < 0) {
		op_log(log, OP_LOG_DEBUG,
		       "the cold part of the Python loop was not searched: %s",
		       strerror(-r));
	}
}

/* Warn the user why the interpreter's frames stay native. */
static int unknown(const struct op_python_image *image, const char *path, int error,
		   struct op_log *log)
{
	char version[OP_LAYOUTS_VERSION_MAX + 1];

	(void)snprintf(version, sizeof(version), "%u.%u", image->version >> 8u,
		       image->version & 255u);
	if (error == -ENOENT)
		return op_layouts_unknown(&op_runtime_python_layouts, version, path, log);
	if (error == -ENOTSUP)
		op_log(log, OP_LOG_WARNING,
		       "%s: this build of CPython %s is not known; its frames stay native",
		       path, version);
	return error;
}

int op_runtime_python_image(struct op_elf *elf, const char *path,
			    const struct op_layouts *layouts, struct op_log *log,
			    struct op_python_image *ret, struct op_runtime_loop *ret_loop)
{
	struct op_elf_symbol symbol[SYMBOLS];
	struct op_python_image image = { 0 };
	int r;

	if (!name_says_python(path) && !op_runtime_may_export(elf, names[LOOP]))
		return 0;
	r = op_elf_find_symbols(elf, names, SYMBOLS, symbol);
	if (r < 0)
		return r;
	if (!symbol[LOOP].value && symbol[OLD_LOOP].value) {
		op_log(log, OP_LOG_WARNING,
		       "%s: CPython before 3.6 is not known; its frames stay native",
		       path);
		return -ENOTSUP;
	}
	if (!symbol[LOOP].value || !symbol[STATE_FUNCTION].value)
		return 0; /* A program that links libpython, or another file. */
	r = find_version(elf, symbol, &image.version);
	if (r < 0)
		return r;
	r = find_layout(elf, &symbol[RUNTIME], image.version, layouts, &image.layout);
	if (r == 0 && (!symbol[LOOP].size || symbol[LOOP].size > LOOP_BYTES_MAX))
		r = -ENOTSUP;
	if (r < 0)
		return unknown(&image, path, r, log);
	image.machine = op_elf_machine(elf);
	image.state_function = symbol[STATE_FUNCTION].value;
	image.state_bytes =
		symbol[STATE_FUNCTION].size ? symbol[STATE_FUNCTION].size : STATE_BYTES;
	image.code_type = symbol[CODE_TYPE].value;
	image.none = symbol[NONE].value;
	image.current = find_current(&image, symbol);
	image.tasks = (struct op_python_tasks){
		.coroutine_type = symbol[COROUTINE_TYPE].value,
		.generator_type = symbol[GENERATOR_TYPE].value,
		.asyncgen_type = symbol[ASYNCGEN_TYPE].value,
		.asend_type = symbol[ASEND_TYPE].value,
	};
	r = op_runtime_python_tasks(elf, &image.layout, &image.tasks);
	if (r < 0)
		op_log(log, OP_LOG_WARNING,
		       "%s: what asyncio publishes of its tasks cannot be read (%s); they "
		       "are not followed",
		       path, strerror(-r));
	find_loop(elf, symbol, log, ret_loop);
	if (image.layout.flags & OP_PYTHON_ONE_FRAME) {
		r = op_runtime_python_edges(elf, symbol[LOOP].value,
					    symbol[LOOP].value + symbol[LOOP].size,
					    image.edge);
		if (r < 0)
			return r;
		/* The ranges are better than the _PyCFrame of 3.10, which changes at
		 * another moment. */
		if (r > 0)
			image.layout.flags &= (uint8_t)~OP_PYTHON_CFRAME;
		image.edge_count = (uint32_t)r;
	}
	*ret = image;
	return 1;
}
