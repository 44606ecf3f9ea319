/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process with two interpreters, each of which calls the other:
 *
 *   main > Python outer > C call_php > PHP middle > C call_python > Python inner
 *   main > Python outer > C call_php > PHP middle > PHP last
 *
 * `inner` and `last` spend the time, in turns. Ends after argv[1] seconds.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sapi/embed/php_embed.h>

static PyObject *inner;

static const char php_code[] = "function last($n) { $x = 0;"
			       "  for ($i = 0; $i < $n; $i++) { $x += $i; } return $x; }"
			       "function middle() { call_python(); return last(40000); }";

static const char python_code[] = "import host, sys, time\n"
				  "def inner():\n"
				  "    x = 0\n"
				  "    for i in range(20000): x += i\n"
				  "    return x\n"
				  "def outer(seconds):\n"
				  "    end = time.monotonic() + seconds\n"
				  "    while time.monotonic() < end: host.call_php()\n"
				  "host.set_inner(inner)\n"
				  "print('ready', flush=True)\n"
				  "outer(host.seconds)\n";

ZEND_BEGIN_ARG_INFO_EX(call_python_args, 0, 0, 0)
ZEND_END_ARG_INFO()

/* Not inlined: its frame tells where PHP called. */
__attribute__((noinline)) ZEND_FUNCTION(call_python)
{
	PyObject *result = PyObject_CallNoArgs(inner);

	Py_XDECREF(result);
	RETVAL_NULL();
}

static const zend_function_entry functions[] = { ZEND_FE(call_python, call_python_args)
							 ZEND_FE_END };

static __attribute__((noinline)) PyObject *call_php(PyObject *self, PyObject *args)
{
	zval name;
	zval result;

	ZVAL_STRING(&name, "middle");
	call_user_function(NULL, NULL, &name, &result, 0, NULL);
	zval_ptr_dtor(&name);
	Py_RETURN_NONE;
}

static PyObject *set_inner(PyObject *self, PyObject *callable)
{
	inner = Py_NewRef(callable);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = { { "call_php", call_php, METH_NOARGS, NULL },
				 { "set_inner", set_inner, METH_O, NULL },
				 { NULL, NULL, 0, NULL } };

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, .m_name = "host",
				     .m_methods = methods, .m_size = -1 };

static double seconds;

static PyObject *make_module(void)
{
	PyObject *m = PyModule_Create(&module);

	PyModule_AddObject(m, "seconds", PyFloat_FromDouble(seconds));
	return m;
}

int main(int argc, char **argv)
{
	seconds = argc > 1 ? atof(argv[1]) : 5;
	PyImport_AppendInittab("host", make_module);
	Py_Initialize();
	php_embed_init(1, argv);
	zend_register_functions(NULL, functions, NULL, MODULE_PERSISTENT);
	zend_eval_string((char *)php_code, NULL, (char *)"two");
	return PyRun_SimpleString(python_code) ? 1 : 0;
}
