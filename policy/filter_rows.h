/* filter_rows - the words in which the tables of filter.h are written; for the tables alone. */
#ifndef POLICY_FILTER_ROWS_H
#define POLICY_FILTER_ROWS_H

#include "policy/filter.h"

/* The kind of a socket, without its flags. socket(2). */
#define SOCK_TYPE 0xfULL

#define EQUAL(number, v)                                                                           \
	{                                                                                          \
		FILTER_EQUAL, (number), 0, (unsigned long long)(v)                                 \
	}
#define MASKED(number, m, v)                                                                       \
	{                                                                                          \
		FILTER_MASKED, (number), (m), (unsigned long long)(v)                              \
	}
#define GREATER(number, v)                                                                         \
	{                                                                                          \
		FILTER_GREATER, (number), 0, (unsigned long long)(v)                               \
	}

#define ALLOW(call, reason)                                                                        \
	{                                                                                          \
		call, 0, {{FILTER_ANY, 0, 0, 0}}, reason, false                                    \
	}
#define ALLOW_IF(call, reason, ...)                                                                \
	{                                                                                          \
		call, 0, {__VA_ARGS__}, reason, false                                              \
	}
#define REFUSE(call, number, reason)                                                               \
	{                                                                                          \
		call, number, {{FILTER_ANY, 0, 0, 0}}, reason, false                               \
	}
#define REFUSE_IF(call, number, reason, ...)                                                       \
	{                                                                                          \
		call, number, {__VA_ARGS__}, reason, false                                         \
	}
/* Honest programs, or their libraries, try these and go on otherwise: no note is made of it. */
#define REFUSE_QUIETLY(call, number, reason)                                                       \
	{                                                                                          \
		call, number, {{FILTER_ANY, 0, 0, 0}}, reason, true                                \
	}
#define REFUSE_QUIETLY_IF(call, number, reason, ...)                                               \
	{                                                                                          \
		call, number, {__VA_ARGS__}, reason, true                                          \
	}

#endif
