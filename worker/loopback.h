/* loopback - the only interface of a run: lo, up. */
#ifndef WORKER_LOOPBACK_H
#define WORKER_LOOPBACK_H

/* Brings lo up in the current net namespace and checks that no other interface is up (a kernel may put tunnel devices
 * that are down into every new namespace; without CAP_NET_ADMIN a run cannot use them).
 * Returns 0, -ENOTUNIQ when another interface is up, or another negative errno. */
int loopback_up(void);

#endif
