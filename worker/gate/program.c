/* program - see the header.
 *
 * What it does is what CPython's pymain_run_file and PyErr_Print do for a script. Those would do it too, but for the
 * end: they finalize the whole interpreter, which takes longer than most programs.
 */
#include "worker/gate/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "worker/gate/collector.h"
#include "worker/gate/ending.h"
#include "worker/gate/python.h"

/* A str itself, whose text no code of the program makes. */
static bool is_text(PyObject *object)
{
	PyObject *text = Py_BuildValue("s", ""), *own = PyObject_Type(text),
		 *type = PyObject_Type(object);

	Py_DecRef(type);
	Py_DecRef(own);
	Py_DecRef(text);
	return type == own;
}

/* The exit code for the code of a SystemExit. Returns false when it is neither none, nor a number, nor text for a
 * stderr that is Python's own; an int that does not fit is -1, as PyLong_AsLong has it. */
static bool simple_status(PyObject *code, int *status)
{
	PyObject *stream = PySys_GetObject("stderr");

	*status = 0;
	if (!code || python_is_none(code))
		return true;
	if (python_flags(code) & PYTHON_LONG_SUBCLASS)
		*status = (int)PyLong_AsLong(code);
	else if (is_text(code) && stream && stream == PySys_GetObject("__stderr__") &&
		 !python_is_none(stream)) {
		PyFile_WriteObject(code, stream, PYTHON_PRINT_RAW);
		PyErr_Clear();
		PySys_WriteStderr("\n");
		*status = 1;
	} else
		return false;
	PyErr_Clear();
	return true;
}

/* What a SystemExit has for a code, as a new reference; value may also be the code itself, while nobody has looked at
 * the exception. Returns false when only the program can tell. */
static bool code_of(PyObject *value, PyObject **code)
{
	PyObject *type = value ? PyObject_Type(value) : NULL;
	bool is_exit = type == PyExc_SystemExit;

	Py_DecRef(type);
	*code = is_exit ? PyObject_GetAttrString(value, "code") : value;
	if (!is_exit)
		Py_IncRef(value);
	return is_exit || !value || !(python_flags(value) & PYTHON_EXCEPTION_SUBCLASS);
}

/* Takes a SystemExit that is nothing special for the exit code; leaves any other exception. */
static bool take_system_exit(int *status)
{
	PyObject *type, *value, *traceback, *code = NULL;
	bool taken = false;

	PyErr_Fetch(&type, &value, &traceback);
	if (type == PyExc_SystemExit) {
		fflush(stdout);
		taken = code_of(value, &code) && simple_status(code, status);
		Py_DecRef(code);
	}
	PyErr_Restore(type, value, traceback);
	if (taken)
		PyErr_Clear();
	return taken;
}

/* As flush_io in CPython's pythonrun.c, which has no word about what fails. */
static void flush_streams(void)
{
	static const char *const names[] = {"stderr", "stdout"};
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	for (int i = 0; i < 2; i++) {
		PyObject *stream = PySys_GetObject(names[i]);

		Py_DecRef(stream ? PyObject_CallMethod(stream, "flush", NULL) : NULL);
		PyErr_Clear();
	}
	PyErr_Restore(type, value, traceback);
}

/* What the program did not catch. CPython prints it, and ends the process for some SystemExit, or one that a hook
 * raises. Returns the exit code. */
static int end_of_exception(void)
{
	PyObject *hook = PySys_GetObject("excepthook");
	int status;

	if (take_system_exit(&status))
		return status;
	if (PyErr_ExceptionMatches(PyExc_SystemExit) || hook != PySys_GetObject("__excepthook__"))
		collector_unfreeze();
	PyErr_Print();
	return 1;
}

_Noreturn void program_run(const char *path)
{
	FILE *file = fopen(path, "rbe");
	PyObject *main_module = PyImport_AddModule("__main__"), *globals, *result;
	bool interrupted;
	int status = 0;

	if (!file || !main_module)
		_exit(1);
	globals = PyModule_GetDict(main_module);
	result = PyRun_FileExFlags(file, path, PYTHON_FILE_INPUT, globals, globals, 1, NULL);
	flush_streams();
	interrupted = PyErr_Occurred() == PyExc_KeyboardInterrupt;
	/* The reference that _PyRun_SimpleFile below us has, and will not come to give up. */
	Py_DecRef(main_module);
	if (!result)
		status = end_of_exception();
	Py_DecRef(result);
	ending_exit(status, interrupted);
}
