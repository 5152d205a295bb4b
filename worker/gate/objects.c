/* objects - see the header. */
#include "worker/gate/objects.h"

#include <stdint.h>
#include <string.h>

enum { TYPES = 2048, TYPES_USED_AT_MOST = TYPES / 2 };

/* What is to be asked of an object of a type. */
enum kind { KIND_NONE, KIND_HARMLESS, KIND_CLASS, KIND_REFERENCE, KIND_FILE, KIND_SEEN };

/* By the address of the type. Types cannot be asked for a hash: a metaclass may answer. */
struct kinds {
	const PyObject *types[TYPES];
	enum kind kinds[TYPES];
	unsigned int used;
};

/* Files, whose end is unseen once they are closed; then those in memory, where it always is. */
static const char *const file_names[] = {"FileIO",	   "BufferedReader", "BufferedWriter",
					 "BufferedRandom", "TextIOWrapper",  "BytesIO",
					 "StringIO"};

enum { FILES = sizeof(file_names) / sizeof(*file_names), FIRST_IN_MEMORY = 5 };

static struct {
	PyObject *files[FILES], *reference, *c_function, *function;
} known;

static PyObject *attribute_of(const char *module_name, const char *name)
{
	PyObject *module = PyImport_ImportModule(module_name);
	PyObject *value = module ? PyObject_GetAttrString(module, name) : NULL;

	Py_DecRef(module);
	return value;
}

static PyObject *type_of_attribute(const char *module_name, const char *name)
{
	PyObject *value = attribute_of(module_name, name);
	PyObject *type = value ? PyObject_Type(value) : NULL;

	Py_DecRef(value);
	return type;
}

int objects_prepare(void)
{
	for (int i = 0; i < FILES; i++) {
		known.files[i] = attribute_of("_io", file_names[i]);
		if (!known.files[i])
			return -1;
	}
	known.reference = attribute_of("_weakref", "ref");
	known.c_function = type_of_attribute("_weakref", "getweakrefcount");
	known.function = type_of_attribute("os", "walk");
	return known.reference && known.c_function && known.function ? 0 : -1;
}

/* Before 3.10 only a class that was made at run time can be asked for a slot; the others have no metaclass of their own
 * that would answer for an attribute. */
static bool has_finalizer(PyObject *type)
{
	if (PyType_GetFlags(type) & PYTHON_HEAP_TYPE)
		return PyType_GetSlot(type, PYTHON_FINALIZE) != NULL;
	return PyObject_HasAttrString(type, "__del__");
}

static enum kind kind_of_type(PyObject *type)
{
	for (int i = 0; i < FILES; i++)
		if (type == known.files[i])
			return i < FIRST_IN_MEMORY ? KIND_FILE : KIND_HARMLESS;
	if (has_finalizer(type))
		return KIND_SEEN;
	if (PyType_GetFlags(type) & PYTHON_TYPE_SUBCLASS)
		return KIND_CLASS;
	if (PyType_IsSubtype(type, known.reference))
		return KIND_REFERENCE;
	return KIND_HARMLESS;
}

static enum kind kind_of(struct kinds *kinds, PyObject *type)
{
	unsigned int at = (unsigned int)(((uintptr_t)type >> 4) * 2654435761U) % TYPES;

	while (kinds->types[at] && kinds->types[at] != type)
		at = (at + 1) % TYPES;
	if (!kinds->types[at]) {
		if (++kinds->used > TYPES_USED_AT_MOST)
			return KIND_SEEN;
		kinds->types[at] = type;
		kinds->kinds[at] = kind_of_type(type);
	}
	return kinds->kinds[at];
}

static bool is_closed(PyObject *file)
{
	PyObject *closed = PyObject_GetAttrString(file, "closed");
	int yes = closed ? PyObject_IsTrue(closed) : 0;

	Py_DecRef(closed);
	PyErr_Clear();
	return yes > 0;
}

static bool is_below(const char *path, const char *variable)
{
	PyObject *value = PySys_GetObject(variable);
	const char *prefix = value ? PyUnicode_AsUTF8(value) : NULL;

	return prefix && !strncmp(path, prefix, strlen(prefix)) && path[strlen(prefix)] == '/';
}

/* Code of a library: callbacks by which it, or a weak set or dictionary, forgets an object. But for _cb of a WeakMethod,
 * which calls another. */
static bool is_of_library(PyObject *function)
{
	PyObject *code = PyObject_GetAttrString(function, "__code__");
	PyObject *file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
	PyObject *name = code ? PyObject_GetAttrString(code, "co_name") : NULL;
	const char *path = file ? PyUnicode_AsUTF8(file) : NULL,
		   *text = name ? PyUnicode_AsUTF8(name) : NULL;
	bool is = path && text && (is_below(path, "prefix") || is_below(path, "base_prefix")) &&
		  strcmp(text, "_cb");

	Py_DecRef(name);
	Py_DecRef(file);
	Py_DecRef(code);
	PyErr_Clear();
	return is;
}

static bool calls_the_program(PyObject *reference)
{
	PyObject *callback = PyObject_GetAttrString(reference, "__callback__");
	PyObject *type = callback ? PyObject_Type(callback) : NULL;
	bool calls = true;

	if (type == known.c_function || python_is_none(callback))
		calls = false;
	else if (type == known.function)
		calls = !is_of_library(callback);
	Py_DecRef(type);
	Py_DecRef(callback);
	PyErr_Clear();
	return calls;
}

static bool ends_unseen(struct kinds *kinds, PyObject *object)
{
	PyObject *type = PyObject_Type(object);
	enum kind kind = kind_of(kinds, type);

	Py_DecRef(type);
	switch (kind) {
	case KIND_HARMLESS:
		return true;
	case KIND_CLASS:
		return (PyType_GetFlags(object) & PYTHON_COLLECTED) || !has_finalizer(object);
	case KIND_REFERENCE:
		return !calls_the_program(object);
	case KIND_FILE:
		return is_closed(object);
	case KIND_NONE:
	case KIND_SEEN:
		break;
	}
	return false;
}

bool objects_end_unseen(PyObject *list)
{
	static struct kinds kinds;

	for (ssize_t i = 0, n = PyList_Size(list); i < n; i++)
		if (!ends_unseen(&kinds, PyList_GetItem(list, i)))
			return false;
	return true;
}
