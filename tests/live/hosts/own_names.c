/* SPDX-License-Identifier: Apache-2.0 */
/* A host's own functions that have the names of other libraries', as a vendor's own libbpf or zstd
 * would have. Each fails, and counts who calls it. */
#include <stddef.h>

int own_calls;

#define OWN(name)                                                                        \
	long name(void);                                                                 \
	long name(void)                                                                  \
	{                                                                                \
		own_calls++;                                                             \
		return -1;                                                               \
	}

OWN(bpf_map_lookup_elem)
OWN(bpf_map_update_elem)
OWN(bpf_obj_get_info_by_fd)
OWN(bpf_object__find_map_by_name)
OWN(bpf_object__find_program_by_name)
OWN(bpf_object__load)
OWN(bpf_object__next_map)
OWN(bpf_object__next_program)
OWN(bpf_prog_load)
OWN(inflate)
OWN(inflateInit_)
OWN(lzma_stream_decoder)
OWN(ZSTD_compress)
OWN(ZSTD_compressCCtx)
OWN(ZSTD_decompress)

/* What libbpf gives for no object. */
void *bpf_object__open_mem(void);
void *bpf_object__open_mem(void)
{
	own_calls++;
	return NULL;
}
