/* python - see the header. */
#include "worker/gate/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long python_flags(PyObject *object)
{
	PyObject *type = PyObject_Type(object);
	unsigned long flags = PyType_GetFlags(type);

	Py_DecRef(type);
	return flags;
}

bool python_is_none(PyObject *object)
{
	PyObject *none = Py_BuildValue("");
	bool is = object == none;

	Py_DecRef(none);
	return is;
}

bool python_is_at_least(int minor)
{
	const char *point = strchr(Py_GetVersion(), '.');

	return point && strtol(point + 1, NULL, 10) >= minor;
}

/* The text of which Python makes __doc__ and __text_signature__; never freed. NULL if there is none. */
static char *doc_of(PyObject *function)
{
	PyObject *name = PyObject_GetAttrString(function, "__name__");
	PyObject *doc = PyObject_GetAttrString(function, "__doc__");
	PyObject *signature = PyObject_GetAttrString(function, "__text_signature__");
	char *text = NULL;
	int n = -1;

	if (name && doc && signature && python_is_none(signature))
		n = asprintf(&text, "%s", PyUnicode_AsUTF8(doc));
	else if (name && doc && signature)
		n = asprintf(&text, "%s%s\n--\n\n%s", PyUnicode_AsUTF8(name),
			     PyUnicode_AsUTF8(signature), PyUnicode_AsUTF8(doc));
	Py_DecRef(signature);
	Py_DecRef(doc);
	Py_DecRef(name);
	PyErr_Clear();
	return n < 0 ? NULL : text;
}

PyObject *python_replace(PyObject *module, struct python_method *method)
{
	PyObject *original = PyObject_GetAttrString(module, method->name), *name, *replacement;
	int r = -1;

	if (!original)
		return NULL;
	method->doc = doc_of(original);
	name = PyObject_GetAttrString(module, "__name__");
	replacement = name ? PyCFunction_NewEx(method, module, name) : NULL;
	if (replacement)
		r = PyObject_SetAttrString(module, method->name, replacement);
	Py_DecRef(replacement);
	Py_DecRef(name);
	return r < 0 ? NULL : original;
}
