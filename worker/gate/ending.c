/* ending - theory of operation
 *
 * Py_FinalizeEx takes the whole interpreter apart, which costs a copy milliseconds, since it copies every page that it
 * touches. A program can see little of that: non-daemon threads are waited for, atexit functions called, streams
 * flushed. That is done here in the same way. What else it could see is the end of objects: __del__, callbacks of weak
 * references, open files and suspended generators. So the objects that came after the pristine interpreter was frozen
 * are looked through, and if the end of any of them could be seen, or if anything else is unusual, Py_FinalizeEx
 * follows after all: what was done before then finds nothing to do.
 */
#include "worker/gate/ending.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/gate/collector.h"
#include "worker/gate/objects.h"
#include "worker/gate/python.h"

enum { STATUS_FLUSH_FAILED = 120, STREAMS = 2 };

static const char *const stream_names[STREAMS] = {"stdout", "stderr"};

static struct {
	PyObject *count_threads, *add_audit_hook, *streams[STREAMS];
	bool audited;
} ending;

/* What a hook would be told here is not what it is told at the end of a plain interpreter. */
static PyObject *addaudithook(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	(void)self;
	ending.audited = true;
	return PyObject_Call(ending.add_audit_hook, arguments, keywords);
}

int ending_prepare(void)
{
	static struct python_method method = {.name = "addaudithook",
					      .flags = PYTHON_ARGUMENTS_AND_KEYWORDS};
	PyObject *sys = PyImport_ImportModule("sys"), *thread = PyImport_ImportModule("_thread");

	method.function = (python_function)(void (*)(void))addaudithook;
	ending.add_audit_hook = sys ? python_replace(sys, &method) : NULL;
	ending.count_threads = thread ? PyObject_GetAttrString(thread, "_count") : NULL;
	Py_DecRef(thread);
	Py_DecRef(sys);
	for (int i = 0; i < STREAMS; i++) {
		ending.streams[i] = PySys_GetObject(stream_names[i]);
		Py_IncRef(ending.streams[i]);
	}
	return ending.add_audit_hook && ending.count_threads ? objects_prepare() : -1;
}

/* A module that the program has imported, or NULL. Borrowed. */
static PyObject *loaded(const char *name)
{
	PyObject *modules = PySys_GetObject("modules");

	return modules ? PyDict_GetItemString(modules, name) : NULL;
}

/* Gives up a new reference; NULL with an exception is no number, as is what is none: -1. */
static long number_of(PyObject *object)
{
	long number = object ? PyLong_AsLong(object) : -1;

	Py_DecRef(object);
	PyErr_Clear();
	return number;
}

static bool has_threads(void)
{
	return number_of(PyObject_CallFunction(ending.count_threads, NULL)) != 0;
}

/* From 3.12 on no thread and no process can be started once the end has begun, and only CPython itself can say so. */
static bool may_start_something(void)
{
	PyObject *atexit = loaded("atexit");

	if (has_threads() || PyInterpreterState_Next(PyInterpreterState_Head()))
		return true;
	return atexit && python_is_at_least(12) &&
	       number_of(PyObject_CallMethod(atexit, "_ncallbacks", NULL)) != 0;
}

/* Whether no flush of a stream runs code of the program: each is the one that Python made, and has no more attributes
 * than that gave it, which is its mode. */
static bool has_own_streams(void)
{
	for (int i = 0; i < STREAMS; i++) {
		PyObject *stream = PySys_GetObject(stream_names[i]), *dict;
		ssize_t n;

		if (!stream || stream != ending.streams[i])
			return false;
		dict = PyObject_GetAttrString(stream, "__dict__");
		n = dict ? PyDict_Size(dict) : -1;
		Py_DecRef(dict);
		PyErr_Clear();
		if (n != 1)
			return false;
	}
	return true;
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

static bool end_of_objects_is_unseen(void)
{
	PyObject *list;
	bool unseen;

	if (has_threads() || !collector_is_quiet())
		return false;
	list = collector_objects();
	unseen = list && objects_end_unseen(list);
	Py_DecRef(list);
	return unseen;
}

void ending_rehearse(void)
{
	if (!may_start_something() && has_own_streams())
		end_of_objects_is_unseen();
}

/* The end as far as it can be seen. Returns false when Py_FinalizeEx is needed. */
static bool end_quickly(bool *flushed)
{
	if (ending.audited || may_start_something())
		return false;
	wait_for_threads();
	call_exit_functions();
	/* What Py_FinalizeEx is to flush, and to tell of, is not flushed before. */
	if (!has_own_streams() || !end_of_objects_is_unseen())
		return false;
	*flushed = flush("stdout", true);
	*flushed &= flush("stderr", false);
	return true;
}

/* Frozen objects would hold what only they refer to. */
static bool end_slowly(void)
{
	collector_unfreeze_in_order();
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
