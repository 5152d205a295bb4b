/* ending - theory of operation
 *
 * Py_FinalizeEx takes the whole interpreter apart, which costs a copy milliseconds, since it copies every page that it
 * touches. A program can see little of that: non-daemon threads are waited for, atexit functions called, streams flushed.
 * That is done here in the same way. What else it could see is the end of objects: __del__, callbacks of weak references,
 * open files and suspended generators. So the objects that came after the pristine interpreter was frozen are looked
 * through, and if the end of any of them could be seen, or if anything else is unusual, Py_FinalizeEx follows after all:
 * what was done before then finds nothing to do.
 */
#include "worker/gate/ending.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/gate/objects.h"
#include "worker/gate/python.h"

enum {
	STATUS_FLUSH_FAILED = 120,
	/* Of the program alone, in the middle generation: about half a million objects. The list of more would take a
	 * lot of the memory that a run may have. */
	MANY_COLLECTIONS = 64,
	MANY_OBJECTS = 200000,
};

static struct {
	PyObject *gc, *threads_count, *sentinel;
	long collections;
} ending;

/* A number from a call of object.method(), -1 without an exception if there is none. */
static long number_of(PyObject *object, const char *method)
{
	PyObject *result = PyObject_CallMethod(object, method, NULL);
	long number = result ? PyLong_AsLong(result) : -1;

	Py_DecRef(result);
	PyErr_Clear();
	return number;
}

static long collections(void)
{
	PyObject *stats = PyObject_CallMethod(ending.gc, "get_stats", NULL);
	PyObject *middle = stats ? PyList_GetItem(stats, 1) : NULL;
	PyObject *number = middle ? PyDict_GetItemString(middle, "collections") : NULL;
	long n = number ? PyLong_AsLong(number) : -1;

	Py_DecRef(stats);
	PyErr_Clear();
	return n;
}

static PyObject *module_attribute(const char *name, const char *attribute)
{
	PyObject *module = PyImport_ImportModule(name);
	PyObject *value = module ? PyObject_GetAttrString(module, attribute) : NULL;

	Py_DecRef(module);
	return value;
}

/* gc is loaded for this alone, and must not be seen in sys.modules for that. */
static PyObject *hidden_gc(void)
{
	PyObject *modules = PySys_GetObject("modules");
	int there = PyDict_GetItemString(modules, "gc") != NULL;
	PyObject *gc = PyImport_ImportModule("gc");

	if (gc && !there && PyDict_DelItemString(modules, "gc") < 0)
		return NULL;
	return gc;
}

int ending_prepare(void)
{
	ending.gc = hidden_gc();
	ending.threads_count = module_attribute("_thread", "_count");
	if (!ending.gc || !ending.threads_count)
		return -1;
	return objects_prepare();
}

int ending_freeze(void)
{
	PyObject *result = PyObject_CallMethod(ending.gc, "collect", NULL);

	Py_DecRef(result);
	result = result ? PyObject_CallMethod(ending.gc, "freeze", NULL) : NULL;
	Py_DecRef(result);
	ending.collections = collections();
	return result ? 0 : -1;
}

void ending_begin(void)
{
	ending.sentinel = PyList_New(0);
}

/* A module that the program has imported, or NULL. Borrowed. */
static PyObject *loaded(const char *name)
{
	PyObject *modules = PySys_GetObject("modules");

	return modules ? PyDict_GetItemString(modules, name) : NULL;
}

/* From 3.12 on no thread and no process can be started once the end has begun, and only CPython itself can say so. */
static bool can_start_something(void)
{
	PyObject *result = PyObject_CallFunction(ending.threads_count, NULL), *atexit;
	long threads = result ? PyLong_AsLong(result) : -1;

	Py_DecRef(result);
	PyErr_Clear();
	if (threads != 0 || PyInterpreterState_Next(PyInterpreterState_Head()))
		return true;
	atexit = loaded("atexit");
	return atexit && python_is_at_least(12) && number_of(atexit, "_ncallbacks") != 0;
}

static void wait_for_threads(void)
{
	PyObject *threading = loaded("threading"), *result;

	if (!threading)
		return;
	result = PyObject_CallMethod(threading, "_shutdown", NULL);
	if (!result)
		PyErr_WriteUnraisable(threading);
	Py_DecRef(result);
}

static void call_exit_functions(void)
{
	PyObject *atexit = loaded("atexit");

	if (atexit)
		Py_DecRef(PyObject_CallMethod(atexit, "_run_exitfuncs", NULL));
	PyErr_Clear();
}

static bool is_closed(PyObject *stream)
{
	PyObject *closed = PyObject_GetAttrString(stream, "closed");
	int yes = closed ? PyObject_IsTrue(closed) : 0;

	Py_DecRef(closed);
	PyErr_Clear();
	return yes > 0;
}

/* Returns false when it cannot be flushed; told is whether a person hears of that. */
static bool flush(const char *name, bool told)
{
	PyObject *stream = PySys_GetObject(name), *result;

	if (!stream || python_is_none(stream) || is_closed(stream))
		return true;
	result = PyObject_CallMethod(stream, "flush", NULL);
	if (!result && told)
		PyErr_WriteUnraisable(stream);
	PyErr_Clear();
	Py_DecRef(result);
	return result != NULL;
}

static bool is_original(const char *name, const char *original)
{
	return PySys_GetObject(name) == PySys_GetObject(original);
}

static bool is_empty_list(PyObject *object, const char *attribute)
{
	PyObject *list = PyObject_GetAttrString(object, attribute);
	bool empty = list && PyList_Size(list) == 0;

	Py_DecRef(list);
	PyErr_Clear();
	return empty;
}

/* What the garbage collector would say or call at the end. */
static bool collector_is_quiet(void)
{
	return is_empty_list(ending.gc, "callbacks") && is_empty_list(ending.gc, "garbage") &&
	       number_of(ending.gc, "get_debug") == 0;
}

static bool made_few_objects(void)
{
	PyObject *counts = PyObject_CallMethod(ending.gc, "get_count", NULL);
	PyObject *young = counts ? PyTuple_GetItem(counts, 0) : NULL;
	long n = young ? PyLong_AsLong(young) : MANY_OBJECTS;

	Py_DecRef(counts);
	PyErr_Clear();
	return n < MANY_OBJECTS && collections() - ending.collections < MANY_COLLECTIONS;
}

static bool end_of_objects_is_unseen(void)
{
	PyObject *list;
	bool unseen;

	if (!is_original("stdout", "__stdout__") || !is_original("stderr", "__stderr__") ||
	    !collector_is_quiet() || !made_few_objects())
		return false;
	list = PyObject_CallMethod(ending.gc, "get_objects", NULL);
	unseen = list && objects_end_unseen(list, ending.sentinel);
	PyErr_Clear();
	Py_DecRef(list);
	return unseen;
}

/* The end as far as it can be seen. Returns false when Py_FinalizeEx is needed. */
static bool end_quickly(bool *flushed)
{
	if (can_start_something())
		return false;
	wait_for_threads();
	call_exit_functions();
	*flushed = flush("stdout", true);
	*flushed &= flush("stderr", false);
	return end_of_objects_is_unseen();
}

/* Frozen objects would hold what only they refer to. */
static bool end_slowly(void)
{
	Py_DecRef(PyObject_CallMethod(ending.gc, "unfreeze", NULL));
	PyErr_Clear();
	return Py_FinalizeEx() == 0;
}

/* Who waits for this process shall see the signal, as a shell must: exit_sigint in CPython's main.c. */
static int end_by_interrupt(void)
{
	signal(SIGINT, SIG_DFL);
	kill(getpid(), SIGINT);
	return SIGINT + 128;
}

_Noreturn void ending_exit(int status, bool interrupted)
{
	bool flushed = true;

	if (!end_quickly(&flushed))
		flushed &= end_slowly();
	if (!flushed)
		status = STATUS_FLUSH_FAILED;
	if (interrupted)
		status = end_by_interrupt();
	exit(status);
}
