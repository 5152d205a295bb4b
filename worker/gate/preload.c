/* preload - see the header. */
#include "worker/gate/preload.h"

#include <stdbool.h>

#include "worker/gate/collector.h"
#include "worker/gate/objects.h"

/* importlib's: its frames are left out of tracebacks. */
#define FILE_NAME "<frozen importlib._bootstrap_external>"

__asm__(".pushsection .rodata\n"
	".global preload_text\n"
	".hidden preload_text\n"
	"preload_text:\n"
	".incbin \"worker/gate/preload.py\"\n"
	".incbin \"worker/gate/leavings.py\"\n"
	".byte 0\n"
	".popsection");
extern const char preload_text[] __attribute__((visibility("hidden")));

static struct {
	PyObject *functions, *stash, *load, *load_plainly;
} preload;

/* It fails only where the limit was lowered meanwhile, and an error that there is comes first. */
static void enter_again(bool fine)
{
	PyObject *type = NULL, *value = NULL, *traceback = NULL;

	if (!Py_EnterRecursiveCall)
		return;
	if (!fine)
		PyErr_Fetch(&type, &value, &traceback);
	if (Py_EnterRecursiveCall("") != 0)
		PyErr_Clear();
	if (!fine)
		PyErr_Restore(type, value, traceback);
}

/* importlib._bootstrap._load_unlocked, and no frame that a traceback would show. */
static PyObject *load_unlocked(PyObject *self, PyObject *spec)
{
	PyObject *name = PyObject_GetAttrString(spec, "name"), *function, *module;

	(void)self;
	if (!name)
		return NULL;
	function = PyDict_GetItem(preload.stash, name) ? preload.load : preload.load_plainly;
	Py_DecRef(name);
	/* This function is not to count as a level of recursion. 3.8 has no function for that. */
	if (Py_LeaveRecursiveCall)
		Py_LeaveRecursiveCall();
	module = PyObject_CallFunctionObjArgs(function, spec, (PyObject *)NULL);
	enter_again(module != NULL);
	return module;
}

static PyObject *ends_unseen(PyObject *self, PyObject *list)
{
	(void)self;
	return Py_BuildValue("i", objects_end_unseen(list));
}

static int compile_functions(void)
{
	PyObject *code = Py_CompileString(preload_text, FILE_NAME, PYTHON_FILE_INPUT),
		 *result = NULL;

	preload.functions = PyDict_New();
	if (code && preload.functions &&
	    PyDict_SetItemString(preload.functions, "__builtins__", PyEval_GetBuiltins()) == 0)
		result = PyEval_EvalCode(code, preload.functions, preload.functions);
	Py_DecRef(code);
	Py_DecRef(result);
	return result ? 0 : -1;
}

static PyObject *function(const char *name)
{
	return PyDict_GetItemString(preload.functions, name);
}

static int give_ends_unseen(void)
{
	static struct python_method method = {"ends_unseen", ends_unseen, PYTHON_ONE_ARGUMENT,
					      NULL};
	PyObject *object = PyCFunction_NewEx(&method, NULL, NULL);
	int r = object ? PyDict_SetItemString(preload.functions, method.name, object) : -1;

	Py_DecRef(object);
	return r;
}

static int wait_for_imports(void)
{
	static struct python_method method = {"_load_unlocked", load_unlocked, PYTHON_ONE_ARGUMENT,
					      NULL};
	PyObject *bootstrap = function("bootstrap"), *hook;
	int r = -1;

	preload.stash = function("stash");
	preload.load = function("load");
	preload.load_plainly = PyObject_GetAttrString(bootstrap, method.name);
	hook = preload.load_plainly ? PyCFunction_NewEx(&method, NULL, NULL) : NULL;
	if (hook)
		r = PyObject_SetAttrString(bootstrap, method.name, hook);
	Py_DecRef(hook);
	return r;
}

static long call_preload(const char *names, PyObject *globals)
{
	PyObject *result = PyObject_CallFunction(function("preload"), "sO", names, globals);
	long bits = result ? PyLong_AsLong(result) : -1;

	Py_DecRef(result);
	return bits;
}

int preload_start(const char *names, PyObject *globals, uint32_t *loaded)
{
	long bits;

	*loaded = 0;
	if (compile_functions() < 0 || give_ends_unseen() < 0 ||
	    collector_prepare(function("gc")) < 0)
		return -1;
	bits = call_preload(names, globals);
	if (bits < 0)
		return -1;
	*loaded = (uint32_t)bits;
	return wait_for_imports();
}

bool preload_ends_unseen(void)
{
	PyObject *result = PyObject_CallFunction(function("is_known"), NULL);
	bool known = result && PyObject_IsTrue(result) > 0;

	Py_DecRef(result);
	PyErr_Clear();
	return known;
}

static void call_without_result(const char *name)
{
	Py_DecRef(PyObject_CallFunction(function(name), NULL));
	PyErr_Clear();
}

void preload_refresh(void)
{
	call_without_result("refresh");
}

void preload_rehearse(void)
{
	call_without_result("rehearse");
}
