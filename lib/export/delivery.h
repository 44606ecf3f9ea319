/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of requests and the thread that carries them to one destination, oldest first,
 * until it takes them, refuses them or the patience is over.
 *
 * The queue is bounded in bytes. The oldest request that is not on the wire at the moment
 * makes room; one that waits for its next try counts as waiting.
 */
#ifndef OP_EXPORT_DELIVERY_H
#define OP_EXPORT_DELIVERY_H

#include <stdint.h>

#include "export/settings.h"
#include "export/sink.h"
#include "export/transport.h"

/*
 * Start the thread. Copies what it needs of @settings. Takes ownership of @transport, on
 * success only.
 */
int op_delivery_new(const struct op_sink *base, const struct op_settings *settings,
		    const struct op_transport_ops *ops, void *transport,
		    struct op_sink **ret);

#endif
