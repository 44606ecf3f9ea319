/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container may have clocks of its own (a time namespace, as of LXC or of timeOffsets
 * of OCI). The kernel's times of samples and processes are from the host's clocks.
 */
#ifndef OTELPROF_TIME_NAMESPACE_H
#define OTELPROF_TIME_NAMESPACE_H

/* Use the host's clocks in this process, which has one thread. Children that were
 * forked before keep theirs. */
void take_clocks_of_host(void);

#endif
