/* module - theory of operation
 *
 * The pristine interpreter is `python3 main.py` whose main.py loads this module and then ends, as far as Python can
 * tell. A copy of it runs its program where Python would go on after that: CPython flushes sys.stderr when main.py has
 * ended (pythonrun.c, flush_io: 3.8 to 3.14), and sys.stderr is a *door* then, an object that serves when it is asked
 * for its "flush". At that place the main thread has no Python frame, its stack is as deep as it is for a program, and
 * nothing is being finalized yet. The door is a type's tp_getattro and not a callable, since calls count as recursion.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/gate/collector.h"
#include "worker/gate/ending.h"
#include "worker/gate/enter.h"
#include "worker/gate/pages.h"
#include "worker/gate/plan.h"
#include "worker/gate/preload.h"
#include "worker/gate/program.h"
#include "worker/gate/python.h"

/* What the door needs; the interpreter gives it no argument to carry. */
static struct {
	struct enter *enter;
	PyObject *error_stream;
	char *path;
	bool ends_unseen;
} gate;

/* The last of all exit functions, since it was registered first; and, where those that the loaded libraries have
 * registered since are known to do nothing that is seen, the last of the program's. */
static void leave(int status, void *unused)
{
	(void)unused;
	enter_leave(gate.enter, status);
}

/* What was a copy a moment ago is an interpreter again. */
static void wake_up(void)
{
	PyOS_AfterFork_Child();
	PySys_SetObject("stderr", gate.error_stream);
	preload_refresh();
}

/* In the process that the pages are learned from. */
static void rehearse(void)
{
	wake_up();
	preload_rehearse();
	ending_rehearse();
	collector_resume();
}

/* The copy, from here on. To take pages saves time to a program that comes later, and costs more to one that waits. */
static _Noreturn void become_program(PyObject *door, bool hurried)
{
	if (!hurried)
		pages_take();
	wake_up();
	/* From 3.13 on flush_io has a reference of its own, and will not come to give it up. */
	if (python_is_at_least(13))
		Py_DecRef(door);
	collector_resume();
	if (gate.ends_unseen)
		on_exit(leave, NULL);
	enter_wait(gate.enter);
	program_run(gate.path);
}

static _Noreturn void serve(PyObject *door)
{
	bool hurried;
	int r;

	while ((r = enter_next(gate.enter, &hurried)) > 0) {
		PyOS_BeforeFork();
		r = enter_fork(gate.enter);
		if (r == 0)
			become_program(door, hurried);
		PyOS_AfterFork_Parent();
	}
	_exit(r < 0);
}

static PyObject *open_door(PyObject *self, PyObject *name)
{
	(void)name;
	serve(self);
}

/* Puts the door where main.py's end will find it. */
static int place_door(void)
{
	struct python_slot slots[] = {{PYTHON_GETATTRO, (void *)(uintptr_t)open_door}, {0, NULL}};
	struct python_type spec = {.name = "gate.door", .slots = slots};
	PyObject *type = PyType_FromSpec(&spec), *door;
	int r = -1;

	door = type ? PyObject_CallFunction(type, NULL) : NULL;
	if (door)
		r = PySys_SetObject("stderr", door);
	Py_DecRef(door);
	Py_DecRef(type);
	return r;
}

/* Objects of other builds have another head: python.h. */
static bool supported(void)
{
	PyObject *flags = PySys_GetObject("abiflags");
	const char *text = flags ? PyUnicode_AsUTF8(flags) : NULL;

	return text && !strchr(text, 't') && !PySys_GetObject("getobjects");
}

/* The program's file has the name that main.py has here: its whole path, or from where Python was started in 3.8. */
static int remember_path(PyObject *globals)
{
	PyObject *name = PyDict_GetItemString(globals, "__file__");
	PyObject *bytes = name ? PyUnicode_EncodeFSDefault(name) : NULL;

	gate.path = bytes ? strdup(PyBytes_AsString(bytes)) : NULL;
	Py_DecRef(bytes);
	return gate.path ? 0 : -1;
}

/* All but the door, which can only be placed when nothing is said on stderr any more. */
static int prepare_copies(PyObject *globals, uint32_t *loaded)
{
	PyObject *fresh = PyDict_Copy(globals);
	int r = -1;

	gate.error_stream = PySys_GetObject("stderr");
	Py_IncRef(gate.error_stream);
	if (fresh && collector_note() == 0 && remember_path(globals) == 0 &&
	    ending_prepare() == 0 &&
	    preload_start(enter_modules(gate.enter), globals, loaded) == 0) {
		gate.ends_unseen = preload_ends_unseen();
		PyDict_Clear(globals);
		r = PyDict_Update(globals, fresh);
	}
	Py_DecRef(fresh);
	return r;
}

__attribute__((visibility("default"))) PyObject *PyInit_gate(void);

PyObject *PyInit_gate(void)
{
	static struct python_module module = {.references = 1, .name = "gate"};

	uint32_t loaded;

	gate.enter = enter_open(GATE_CONTROL, GATE_PLAN);
	if (!gate.enter || on_exit(leave, NULL))
		_exit(1);
	if (!supported()) {
		enter_ready(gate.enter, 0, ENOTSUP);
		_exit(0);
	}
	/* The door is made when all else is frozen, so that it can go. */
	if (prepare_copies(PyEval_GetGlobals(), &loaded) < 0 || collector_freeze() < 0 ||
	    place_door() < 0) {
		PySys_SetObject("stderr", gate.error_stream);
		PyErr_Print();
		_exit(1);
	}
	PyOS_BeforeFork();
	pages_learn(rehearse);
	PyOS_AfterFork_Parent();
	if (enter_ready(gate.enter, loaded, 0) < 0)
		_exit(1);
	return PyModuleDef_Init(&module);
}
