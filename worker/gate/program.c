/* program - see the header.
 *
 * What it does is what CPython's pymain_run_file and PyErr_Print do for a script. Those would do it too, but for the end:
 * they finalize the whole interpreter, which takes longer than most programs.
 */
#include "worker/gate/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "worker/gate/ending.h"

static bool is_none(PyObject *object)
{
	PyObject *none = Py_BuildValue("");
	bool is = object == none;

	Py_DecRef(none);
	return is;
}

/* What is no number is a message. */
static int print_code(PyObject *code)
{
	PyObject *stream = PySys_GetObject("stderr");

	PyErr_Clear();
	if (stream && !is_none(stream))
		PyFile_WriteObject(code, stream, PYTHON_PRINT_RAW);
	else {
		PyObject_Print(code, stderr, PYTHON_PRINT_RAW);
		fflush(stderr);
	}
	PySys_WriteStderr("\n");
	return 1;
}

static bool is_integer(PyObject *object)
{
	return PyObject_IsInstance(object, (PyObject *)&PyLong_Type) > 0;
}

/* The exit code that a SystemExit asks for, which is the current exception; printed if it is a message. An int that does
 * not fit is -1, as PyLong_AsLong has it. */
static int code_of_system_exit(void)
{
	PyObject *type, *value, *traceback, *code = NULL;
	int status = 0;

	PyErr_Fetch(&type, &value, &traceback);
	fflush(stdout);
	if (value && PyObject_IsInstance(value, PyExc_BaseException) > 0)
		code = PyObject_GetAttrString(value, "code");
	if (!code)
		code = value;
	if (code && !is_none(code))
		status = is_integer(code) ? (int)PyLong_AsLong(code) : print_code(code);
	PyErr_Restore(type, value, traceback);
	PyErr_Clear();
	return status;
}

_Noreturn void program_run(PyObject *globals, const char *path, int report)
{
	FILE *file = fopen(path, "rbe");
	PyObject *result;
	bool interrupted;
	int status = 0;

	if (report >= 0)
		close(report);
	if (!file)
		_exit(1);
	result = PyRun_FileExFlags(file, path, PYTHON_FILE_INPUT, globals, globals, 1, NULL);
	interrupted = PyErr_Occurred() == PyExc_KeyboardInterrupt;
	if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_SystemExit))
		status = code_of_system_exit();
	else if (PyErr_Occurred()) {
		PyErr_Print();
		status = 1;
	}
	Py_DecRef(result);
	ending_exit(status, interrupted);
}
