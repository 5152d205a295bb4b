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
#include "worker/gate/python.h"

/* What is no number is a message. */
static int print_code(PyObject *code)
{
	PyObject *stream = PySys_GetObject("stderr");

	PyErr_Clear();
	if (stream && !python_is_none(stream))
		PyFile_WriteObject(code, stream, PYTHON_PRINT_RAW);
	else {
		PyObject_Print(code, stderr, PYTHON_PRINT_RAW);
		fflush(stderr);
	}
	PySys_WriteStderr("\n");
	return 1;
}

/* The exit code that a SystemExit asks for, which is the current exception; printed if it is a message. An int that does
 * not fit is -1, as PyLong_AsLong has it. */
static int code_of_system_exit(void)
{
	PyObject *type, *value, *traceback, *code = NULL;
	int status = 0;

	PyErr_Fetch(&type, &value, &traceback);
	fflush(stdout);
	if (value && python_flags(value) & PYTHON_EXCEPTION_SUBCLASS)
		code = PyObject_GetAttrString(value, "code");
	if (!code)
		code = value;
	if (code && !python_is_none(code))
		status = python_flags(code) & PYTHON_LONG_SUBCLASS ? (int)PyLong_AsLong(code)
								   : print_code(code);
	PyErr_Restore(type, value, traceback);
	PyErr_Clear();
	return status;
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

/* Prints what the program did not catch. Returns the exit code. */
static int end_of_exception(void)
{
	if (PyErr_ExceptionMatches(PyExc_SystemExit))
		return code_of_system_exit();
	PyErr_Print();
	return 1;
}

_Noreturn void program_run(const char *path, int report)
{
	FILE *file = fopen(path, "rbe");
	PyObject *main_module = PyImport_AddModule("__main__"), *globals, *result;
	bool interrupted;
	int status = 0;

	if (report >= 0)
		close(report);
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
