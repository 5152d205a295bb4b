/* python - what is used of CPython's C API, declared by hand.
 *
 * One binary serves every CPython from 3.8 on, and is built where no header of Python is. The real headers would not
 * do: their macros look into structs that differ from version to version, and what is needed most
 * (PyOS_AfterFork_Child, PyRun_FileExFlags) is outside the limited API. So objects are opaque here, only exported
 * functions are called, and the few structs are those of the stable ABI. A build with other objects (free-threaded, or
 * traced references) is refused by module.c.
 */
#ifndef WORKER_GATE_PYTHON_H
#define WORKER_GATE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct _object PyObject;
typedef PyObject *(*python_function)(PyObject *self, PyObject *argument);
typedef PyObject *(*python_keyword_function)(PyObject *self, PyObject *arguments,
					     PyObject *keywords);

enum {
	PYTHON_FILE_INPUT = 257,	   /* Py_file_input */
	PYTHON_ARGUMENTS_AND_KEYWORDS = 3, /* METH_VARARGS | METH_KEYWORDS */
	PYTHON_ONE_ARGUMENT = 8,	   /* METH_O */
	PYTHON_PRINT_RAW = 1,		   /* Py_PRINT_RAW */
	PYTHON_GETATTRO = 58,		   /* Py_tp_getattro */
	PYTHON_FINALIZE = 80,		   /* Py_tp_finalize */
};

/* Py_TPFLAGS_HEAPTYPE and so on: bits of what PyType_GetFlags says. */
#define PYTHON_HEAP_TYPE (1UL << 9)
#define PYTHON_COLLECTED (1UL << 14) /* Py_TPFLAGS_HAVE_GC */
#define PYTHON_LONG_SUBCLASS (1UL << 24)
#define PYTHON_EXCEPTION_SUBCLASS (1UL << 30)
#define PYTHON_TYPE_SUBCLASS (1UL << 31)

/* PyMethodDef, PyModuleDef, PyType_Slot and PyType_Spec; an object's head is a count and a type. */
struct python_method {
	const char *name;
	python_function function;
	int flags;
	const char *doc;
};

struct python_module {
	ssize_t references;
	void *type, *init;
	ssize_t index;
	void *copy;
	const char *name, *doc;
	ssize_t size;
	struct python_method *methods;
	void *slots, *traverse, *clear, *free;
};

struct python_slot {
	int slot;
	void *function;
};

struct python_type {
	const char *name;
	int basic_size, item_size;
	unsigned int flags;
	struct python_slot *slots;
};

extern PyObject *PyExc_KeyboardInterrupt, *PyExc_ResourceWarning, *PyExc_SystemExit;

void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
PyObject *Py_BuildValue(const char *, ...);
int Py_FinalizeEx(void);

void PyOS_BeforeFork(void);
void PyOS_AfterFork_Parent(void);
void PyOS_AfterFork_Child(void);

PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
void PyErr_Restore(PyObject *, PyObject *, PyObject *);
int PyErr_ExceptionMatches(PyObject *);
void PyErr_Print(void);
void PyErr_WriteUnraisable(PyObject *);

PyObject *PyRun_FileExFlags(FILE *, const char *, int, PyObject *, PyObject *, int, void *);
PyObject *PyEval_GetGlobals(void);
PyObject *PyEval_GetBuiltins(void);
PyObject *PyEval_EvalCode(PyObject *, PyObject *, PyObject *);
PyObject *Py_CompileString(const char *, const char *, int);

PyObject *PyImport_ImportModule(const char *);
PyObject *PyImport_AddModule(const char *);
PyObject *PyModule_GetDict(PyObject *);
PyObject *PyModuleDef_Init(struct python_module *);
PyObject *PyType_FromSpec(struct python_type *);
unsigned long PyType_GetFlags(PyObject *);
void *PyType_GetSlot(PyObject *, int);
int PyType_IsSubtype(PyObject *, PyObject *);
void *PyInterpreterState_Head(void);
void *PyInterpreterState_Next(void *);
const char *Py_GetVersion(void);
PyObject *PyCFunction_NewEx(struct python_method *, PyObject *, PyObject *);
PyObject *PySys_GetObject(const char *);
int PySys_SetObject(const char *, PyObject *);
void PySys_WriteStderr(const char *, ...);
int PyFile_WriteObject(PyObject *, PyObject *, int);

PyObject *PyObject_Call(PyObject *, PyObject *, PyObject *);
PyObject *PyObject_CallFunction(PyObject *, const char *, ...);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
int PyObject_SetAttrString(PyObject *, const char *, PyObject *);
int PyObject_HasAttrString(PyObject *, const char *);
int PyObject_IsTrue(PyObject *);
PyObject *PyObject_Type(PyObject *);

/* Functions from 3.9 on. */
int Py_EnterRecursiveCall(const char *) __attribute__((weak));
void Py_LeaveRecursiveCall(void) __attribute__((weak));

void PyObject_GC_UnTrack(void *);

PyObject *PyDict_New(void);
PyObject *PyDict_Copy(PyObject *);
void PyDict_Clear(PyObject *);
int PyDict_Update(PyObject *, PyObject *);
PyObject *PyDict_GetItem(PyObject *, PyObject *);
PyObject *PyDict_GetItemString(PyObject *, const char *);
int PyDict_SetItemString(PyObject *, const char *, PyObject *);
int PyDict_DelItemString(PyObject *, const char *);
ssize_t PyDict_Size(PyObject *);
PyObject *PyCell_New(PyObject *);
ssize_t PyList_Size(PyObject *);
PyObject *PyList_GetItem(PyObject *, ssize_t);
PyObject *PyTuple_GetItem(PyObject *, ssize_t);
long PyLong_AsLong(PyObject *);
const char *PyUnicode_AsUTF8(PyObject *);
PyObject *PyUnicode_EncodeFSDefault(PyObject *);
char *PyBytes_AsString(PyObject *);

/* Bits of the type of an object. No code of a program runs for it, as it may for PyObject_IsInstance. */
unsigned long python_flags(PyObject *object);

/* Whether it is None; NULL is not. */
bool python_is_none(PyObject *object);

/* Whether this is CPython 3.minor or later. */
bool python_is_at_least(int minor);

/* Puts a function in the place of a module's of the same name; it is shown as the original is. Fills in method->doc,
 * which must stay as long as the process. Returns the original, a new reference, or NULL with an exception. */
PyObject *python_replace(PyObject *module, struct python_method *method);

#endif
