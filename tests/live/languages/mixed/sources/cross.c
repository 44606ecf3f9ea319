/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a language calls: C that calls a function of that language and then spends time itself.
 * One of JAVA, NODE, PYTHON, RUBY, GO says which. It is built into a library or, for Go, its
 * program. With PYTHON and JVM, Python calls C that calls Java, in a VM that C makes.
 */
static volatile unsigned int sink;

__attribute__((noinline)) void burn(void)
{
	unsigned int i;

	for (i = 0; i < 100000; i++)
		sink = sink * 31 + i;
}

#if defined(JAVA)
#include <jni.h>

JNIEXPORT void JNICALL Java_Cross_callBack(JNIEnv *env, jclass class)
{
	jmethodID inner = (*env)->GetStaticMethodID(env, class, "inner", "()V");

	(*env)->CallStaticVoidMethod(env, class, inner);
	burn();
}
#elif defined(NODE)
#include <node_api.h>

__attribute__((noinline)) static napi_value call_back(napi_env env,
						      napi_callback_info info)
{
	napi_value inner, self, result;
	size_t count = 1;

	napi_get_cb_info(env, info, &count, &inner, &self, 0);
	napi_call_function(env, self, inner, 0, 0, &result);
	burn();
	return result;
}

NAPI_MODULE_INIT()
{
	napi_value function;

	napi_create_function(env, "call_back", NAPI_AUTO_LENGTH, call_back, 0, &function);
	napi_set_named_property(env, exports, "call_back", function);
	return exports;
}
#elif defined(PYTHON)
#include <Python.h>
#if defined(JVM)
#include <jni.h>
#include <stdlib.h>

/* CLASSES: -Djava.class.path=FOLDER of Cross.class */
static PyObject *call_inner(PyObject *unused)
{
	static jmethodID inner;
	static jclass cross;
	static JNIEnv *env;
	JavaVMOption options[] = { { .optionString = getenv("CLASSES") },
				   { .optionString = "-XX:+UnlockDiagnosticVMOptions" },
				   { .optionString = "-XX:+DebugNonSafepoints" } };
	JavaVMInitArgs arguments = { .version = JNI_VERSION_1_8,
				     .nOptions = 3,
				     .options = options };
	JavaVM *vm;

	if (!env) {
		if (JNI_CreateJavaVM(&vm, (void **)&env, &arguments) ||
		    !(cross = (*env)->FindClass(env, "Cross")))
			abort();
		inner = (*env)->GetStaticMethodID(env, cross, "inner", "()V");
	}
	(*env)->CallStaticVoidMethod(env, cross, inner);
	Py_RETURN_NONE;
}
#else
static PyObject *call_inner(PyObject *inner)
{
	return PyObject_CallNoArgs(inner);
}
#endif

__attribute__((noinline)) static PyObject *call_back(PyObject *self, PyObject *inner)
{
	PyObject *result = call_inner(inner);

	(void)self;
	burn();
	return result;
}

static PyMethodDef methods[] = { { "call_back", call_back, METH_O, 0 }, { 0 } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "cross", 0, -1, methods };

PyMODINIT_FUNC PyInit_cross(void)
{
	return PyModule_Create(&module);
}
#elif defined(RUBY)
/* Ruby calls it by fiddle, so there are no headers. */
void call_back(void (*inner)(void))
{
	inner();
	burn();
}
#else /* GO */
extern void goInner(void);

void call_back(void)
{
	goInner();
	burn();
}
#endif
