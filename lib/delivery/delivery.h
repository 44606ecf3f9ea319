/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that carries the requests of a queue (export/queue.h) to one destination,
 * oldest first, until it takes them, refuses them or the patience is over.
 */
#ifndef OP_DELIVERY_DELIVERY_H
#define OP_DELIVERY_DELIVERY_H

#include <stdint.h>

#include "delivery/settings.h"
#include "export/sink.h"
#include "transport/transport.h"

/*
 * Start the thread. Copies what it needs of @settings. Takes ownership of its certificates
 * and of @transport, on success only.
 */
int op_delivery_new(const struct op_sink *base, struct op_settings *settings,
		    const struct op_transport_ops *ops, void *transport,
		    struct op_sink **ret);

#endif
