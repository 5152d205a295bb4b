/* fit - settings that this machine cannot bear. */
#ifndef SUPERVISOR_FIT_H
#define SUPERVISOR_FIT_H

#include "supervisor/config.h"

/* Lowers how many calls may wait and how many connections there may be to what the limit on open files lets happen, and
 * says so in the log. Neither gets less than one. */
void fit_config(struct config *config);

#endif
