/* objects - see the header. */
#include "worker/gate/objects.h"

#include <stdint.h>
#include <string.h>

enum { TYPES = 2048, TYPES_USED_AT_MOST = TYPES / 2 };

/* What is to be asked of an object of a type. */
enum kind {
	KIND_NONE,
	KIND_HARMLESS,
	KIND_CLASS,
	KIND_REFERENCE,
	KIND_FILE,
	KIND_GENERATOR,
	KIND_SEEN
};

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
	PyObject *files[FILES], *reference, *c_function, *function, *method, *generator, *filters;
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

/* Any one does: os.environ is an object of a class in Python. */
static PyObject *type_of_bound_method(void)
{
	PyObject *object = attribute_of("os", "environ");
	PyObject *method = object ? PyObject_GetAttrString(object, "copy") : NULL;
	PyObject *type = method ? PyObject_Type(method) : NULL;

	Py_DecRef(method);
	Py_DecRef(object);
	return type;
}

static PyObject *type_of_generator(void)
{
	PyObject *walk = attribute_of("os", "walk");
	PyObject *generator = walk ? PyObject_CallFunction(walk, "s", "") : NULL;
	PyObject *type = generator ? PyObject_Type(generator) : NULL;

	Py_DecRef(generator);
	Py_DecRef(walk);
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
	known.method = type_of_bound_method();
	known.generator = type_of_generator();
	known.filters = attribute_of("_warnings", "filters");
	return known.reference && known.c_function && known.function && known.method &&
			       known.generator && known.filters
		       ? 0
		       : -1;
}

/* Before 3.10 only a class that was made at run time can be asked for a slot; the others have no metaclass of their
 * own that would answer for an attribute. */
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
	if (type == known.generator)
		return KIND_GENERATOR;
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

static bool is_true(PyObject *object)
{
	int yes = object ? PyObject_IsTrue(object) : 0;

	Py_DecRef(object);
	PyErr_Clear();
	return yes > 0;
}

/* Whether Python is silent about files that nobody closed, as it is unless the program wants to hear of them. */
static bool are_left_open_silently(void)
{
	ssize_t n = PyList_Size(known.filters);

	for (ssize_t i = 0; i < n; i++) {
		PyObject *filter = PyList_GetItem(known.filters, i),
			 *category = PyTuple_GetItem(filter, 2);
		const char *action = PyUnicode_AsUTF8(PyTuple_GetItem(filter, 0));

		if (!category || !action || !(python_flags(category) & PYTHON_TYPE_SUBCLASS))
			break;
		if (!PyType_IsSubtype(PyExc_ResourceWarning, category))
			continue;
		if (strcmp(action, "ignore") != 0)
			break;
		if (python_is_none(PyTuple_GetItem(filter, 1)) &&
		    python_is_none(PyTuple_GetItem(filter, 3)))
			return true;
	}
	PyErr_Clear();
	return false;
}

/* A file is seen to end when it has something to write, or to warn of. */
static bool ends_silently(PyObject *file)
{
	return is_true(PyObject_GetAttrString(file, "closed")) ||
	       (are_left_open_silently() && !is_true(PyObject_CallMethod(file, "writable", NULL)));
}

static bool is_below(const char *path, const char *variable)
{
	PyObject *value = PySys_GetObject(variable);
	const char *prefix = value ? PyUnicode_AsUTF8(value) : NULL;

	return prefix && !strncmp(path, prefix, strlen(prefix)) && path[strlen(prefix)] == '/';
}

/* Python's own, or that of a library which is known to say nothing when its objects end: the three that are loaded ahead
 * without being asked for, and what they are made of. */
static bool is_known(const char *path)
{
	static const char *const libraries[] = {
		"numpy/",     "pandas/",      "matplotlib/", "mpl_toolkits/", "PIL/",
		"dateutil/",  "pytz/",	      "cycler/",     "cycler.py",     "kiwisolver/",
		"pyparsing/", "pyparsing.py", "packaging/",  "contourpy/",    "six.py"};
	const char *packages = strstr(path, "-packages/");

	for (size_t i = 0; packages && i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(strchr(packages, '/') + 1, libraries[i], strlen(libraries[i])))
			return true;
	return !packages;
}

/* Code of a library: the callbacks by which it, or a weak set or dictionary, forgets an object. */
static bool is_of_library(PyObject *code)
{
	PyObject *file = PyObject_GetAttrString(code, "co_filename");
	const char *path = file ? PyUnicode_AsUTF8(file) : NULL;
	bool is = path && (is_below(path, "prefix") || is_below(path, "base_prefix")) &&
		  is_known(path);

	Py_DecRef(file);
	return is;
}

static bool is_named(PyObject *code, const char *name)
{
	PyObject *own = PyObject_GetAttrString(code, "co_name");
	const char *text = own ? PyUnicode_AsUTF8(own) : NULL;
	bool is = text && !strcmp(text, name);

	Py_DecRef(own);
	return is;
}

/* What the _cb of a WeakMethod calls: the first thing that it is closed over. A new reference, or NULL. */
static PyObject *called_by_weak_method(PyObject *function)
{
	PyObject *closure = PyObject_GetAttrString(function, "__closure__");
	PyObject *cell = closure && !python_is_none(closure) ? PyTuple_GetItem(closure, 0) : NULL;
	PyObject *callback = cell ? PyObject_GetAttrString(cell, "cell_contents") : NULL;

	Py_DecRef(closure);
	return callback;
}

static bool is_silent_function(PyObject *function, PyObject **next)
{
	PyObject *code = PyObject_GetAttrString(function, "__code__");
	bool silent = code && is_of_library(code);

	if (silent && is_named(code, "_cb")) {
		*next = called_by_weak_method(function);
		silent = *next != NULL;
	}
	Py_DecRef(code);
	return silent;
}

/* Whether no code of the program is called. That of C is not: an abstract class forgets another. */
static bool is_silent(PyObject *callback)
{
	bool silent = true;

	Py_IncRef(callback);
	while (silent && callback && !python_is_none(callback)) {
		PyObject *type = PyObject_Type(callback), *next = NULL;

		if (type == known.method)
			next = PyObject_GetAttrString(callback, "__func__");
		else if (type == known.function)
			silent = is_silent_function(callback, &next);
		else
			silent = type == known.c_function;
		Py_DecRef(type);
		Py_DecRef(callback);
		callback = next;
	}
	Py_DecRef(callback);
	PyErr_Clear();
	return silent;
}

static bool calls_the_program(PyObject *reference)
{
	PyObject *callback = PyObject_GetAttrString(reference, "__callback__");
	bool calls = !callback || !is_silent(callback);

	Py_DecRef(callback);
	PyErr_Clear();
	return calls;
}

static bool is_generator_of_library(PyObject *generator)
{
	PyObject *code = PyObject_GetAttrString(generator, "gi_code");
	bool is = code && is_of_library(code);

	Py_DecRef(code);
	PyErr_Clear();
	return is;
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
		return ends_silently(object);
	case KIND_GENERATOR:
		return is_generator_of_library(object);
	case KIND_NONE:
	case KIND_SEEN:
		break;
	}
	return false;
}

bool objects_end_unseen(PyObject *list)
{
	/* Not kept: a type may be another, or have got an end that is seen, when it is looked at again. */
	struct kinds kinds = {.used = 0};

	for (ssize_t i = 0, n = PyList_Size(list); i < n; i++)
		if (!ends_unseen(&kinds, PyList_GetItem(list, i)))
			return false;
	return true;
}
