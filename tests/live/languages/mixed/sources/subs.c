/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in which Python runs in several interpreters:
 *
 *     subs nested SECONDS   Python of the main interpreter calls C that calls Python of another one,
 *                           on the same thread
 *     subs alone SECONDS    another interpreter is all that this thread runs
 *     subs threads SECONDS  two threads, each with an interpreter and, since 3.12, a lock of its own
 */
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char outer_text[] = "import time, subs\n"
				 "def own_leaf(n):\n"
				 "    x = 0\n"
				 "    for i in range(n): x += i * i\n"
				 "    return x\n"
				 "def outer():\n"
				 "    own_leaf(3000)\n"
				 "    subs.enter()\n"
				 "outer()\n"
				 "subs.ready()\n"
				 "end = time.time() + SECONDS\n"
				 "while time.time() < end: outer()\n";
static const char inner_text[] = "def sub_leaf(n):\n"
				 "    x = 0\n"
				 "    for i in range(n): x += i * i\n"
				 "    return x\n"
				 "def sub_run():\n"
				 "    return sub_leaf(3000)\n";
static PyThreadState *sub;
static PyObject *sub_run;

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void call(PyObject *function)
{
	PyObject *result = PyObject_CallFunction(function, NULL);

	if (!result)
		die("a call failed");
	Py_DECREF(result);
}

__attribute__((noinline)) static PyObject *enter(PyObject *self, PyObject *arguments)
{
	PyThreadState *was = PyThreadState_Swap(sub);

	(void)self;
	(void)arguments;
	call(sub_run);
	PyThreadState_Swap(was);
	Py_RETURN_NONE;
}

static PyObject *ready(PyObject *self, PyObject *arguments)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = { { "enter", enter, METH_NOARGS, NULL },
				 { "ready", ready, METH_NOARGS, NULL },
				 { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "subs", NULL, -1, methods, NULL, NULL, NULL, NULL
};

static PyObject *make_module(void)
{
	return PyModule_Create(&module);
}

/* The function of a new interpreter, which is the current one. */
static PyObject *define(void)
{
	PyObject *names;

	if (PyRun_SimpleString(inner_text))
		die("the text failed");
	names = PyModule_GetDict(PyImport_AddModule("__main__"));
	return PyDict_GetItemString(names, "sub_run");
}

static void run_until(PyObject *function, double seconds)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		call(function);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - from.tv_sec) < seconds);
}

static double seconds;

static void *in_thread(void *unused)
{
	PyGILState_STATE state = PyGILState_Ensure();
#if PY_VERSION_HEX >= 0x030c0000
	PyInterpreterConfig config = { .check_multi_interp_extensions = 1,
				       .gil = PyInterpreterConfig_OWN_GIL };
	PyThreadState *own = NULL;
	PyStatus status = Py_NewInterpreterFromConfig(&own, &config);

	if (PyStatus_Exception(status))
		die("no interpreter");
#else
	if (!Py_NewInterpreter())
		die("no interpreter");
#endif
	(void)state;
	run_until(define(), seconds);
	_exit(0);
}

int main(int count, char **argument)
{
	char text[sizeof(outer_text) + 64];
	char *at;
	PyThreadState *own;

	if (count < 3)
		return 2;
	seconds = atof(argument[2]);
	PyImport_AppendInittab("subs", make_module);
	Py_InitializeEx(0);
	own = PyThreadState_Get();
	if (strcmp(argument[1], "threads") == 0) {
		pthread_t thread[2];

		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		PyEval_SaveThread();
		pthread_create(&thread[0], NULL, in_thread, NULL);
		pthread_create(&thread[1], NULL, in_thread, NULL);
		pthread_join(thread[0], NULL);
		return 0;
	}
	sub = Py_NewInterpreter();
	if (!sub)
		die("no interpreter");
	sub_run = define();
	if (strcmp(argument[1], "alone") == 0) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		run_until(sub_run, seconds);
		return 0;
	}
	PyThreadState_Swap(own);
	strcpy(text, outer_text);
	at = strstr(text, "SECONDS");
	memset(at, ' ', 7);
	memcpy(at, argument[2], strlen(argument[2]));
	return PyRun_SimpleString(text) != 0;
}
