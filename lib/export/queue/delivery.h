/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that delivers the requests of a queue (export/queue/queue.h) to one destination,
 * oldest first. It retries a request until the destination accepts or refuses it, or its
 * time is over.
 */
#ifndef OP_EXPORT_QUEUE_DELIVERY_H
#define OP_EXPORT_QUEUE_DELIVERY_H

#include <stdint.h>

#include "export/queue/export_settings.h"
#include "export/sink/sink.h"
#include "export/transport/transport.h"

/* Start the thread. Copies what it needs of @settings. On success it takes ownership of
 * the settings' certificates and of @transport. */
int op_delivery_new(const struct op_sink *base, struct op_export_settings *settings,
		    const struct op_transport_ops *ops, void *transport,
		    struct op_sink **ret);

#endif
