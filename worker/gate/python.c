/* python - see the header. */
#include "worker/gate/python.h"

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
