/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static probes. Each is a nop and a note of owner "stapsdt", type 3. The note has
 * the addresses of the nop, of a base and of the semaphore, the provider, the name, and
 * the places of the arguments.
 */
#include "preload/heap/sampler.h"

#define HIDDEN __attribute__((section(".probes"), used, visibility("hidden")))

HIDDEN volatile uint16_t op_preload_alloc_listeners;
HIDDEN union op_preload_free_gate op_preload_free_gate __attribute__((aligned(4)));

/* The base: its address shows how far the file was moved after it was linked. */
__asm__(".pushsection .stapsdt.base, \"a\", \"progbits\"\n"
	".hidden op_preload_probe_base\n"
	"op_preload_probe_base: .space 1\n"
	".size op_preload_probe_base, 1\n"
	".popsection\n");

#define PROBE(name, semaphore, arguments)                                                \
	"990:	nop\n"                                                                     \
	".pushsection .note.stapsdt, \"\", \"note\"\n"                                   \
	".balign 4\n"                                                                    \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                           \
	"991:	.asciz \"stapsdt\"\n"                                                      \
	"992:	.balign 4\n"                                                               \
	"993:	.8byte 990b\n"                                                             \
	".8byte op_preload_probe_base\n"                                                 \
	".8byte " semaphore "\n"                                                         \
	".asciz \"otel_memory\"\n"                                                       \
	".asciz \"" name "\"\n"                                                          \
	".asciz \"" arguments "\"\n"                                                     \
	"994:	.balign 4\n"                                                               \
	".popsection\n"

/* The places in which the ABI passes arguments, with every compiler. The profiler has
 * programs for these places before it meets a file (lib/parts/heap/heap.c). */
#if defined(__x86_64__)
#define FIRST  "rdi"
#define SECOND "rsi"
#define THIRD  "rdx"
#else
#define FIRST  "x0"
#define SECOND "x1"
#define THIRD  "x2"
#endif

__attribute__((noinline)) void op_preload_report_alloc(void *p, uint64_t size,
						       uint64_t weight)
{
	register void *first __asm__(FIRST) = p;
	register uint64_t second __asm__(SECOND) = size;
	register uint64_t third __asm__(THIRD) = weight;

	__asm__ volatile(PROBE("alloc", "op_preload_alloc_listeners", "8@%0 8@%1 8@%2")
			 :
			 : "r"(first), "r"(second), "r"(third)
			 : "memory");
}

__attribute__((noinline)) void op_preload_report_free(void *p)
{
	register void *first __asm__(FIRST) = p;

	__asm__ volatile(PROBE("free", "op_preload_free_gate", "8@%0")
			 :
			 : "r"(first)
			 : "memory");
}
