/* signals - what was inherited of them: exec(2) keeps ignored signals ignored and blocked ones blocked. */
#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

/* Every signal at its default and none blocked, whatever was inherited. */
void signals_reset(void);

#endif
