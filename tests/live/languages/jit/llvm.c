/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run known.ll in LLVM's just-in-time compiler, with its listener for perf, as Julia and
 * PostgreSQL do: it writes a jitdump file below $JITDUMPDIR.
 *
 *     llvm FILE.ll SECONDS
 *
 * LLVM's C interface is declared here, so that its headers need not be installed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	OTHERS = 100,
};

typedef void *layer_fn(void *ctx, void *session, const char *triple);

void LLVMInitializeX86TargetInfo(void);
void LLVMInitializeX86Target(void);
void LLVMInitializeX86TargetMC(void);
void LLVMInitializeX86AsmPrinter(void);
int LLVMCreateMemoryBufferWithContentsOfFile(const char *path, void **ret, char **why);
void *LLVMCreateMemoryBufferWithMemoryRangeCopy(const char *data, size_t len,
						const char *name);
int LLVMParseIRInContext(void *context, void *buffer, void **ret, char **why);
void *LLVMCreatePerfJITEventListener(void);
char *LLVMGetErrorMessage(void *error);
void *LLVMOrcCreateNewThreadSafeContext(void);
void *LLVMOrcThreadSafeContextGetContext(void *context);
void *LLVMOrcCreateNewThreadSafeModule(void *module, void *context);
void *LLVMOrcCreateLLJITBuilder(void);
void LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(void *builder, layer_fn *fn,
						     void *ctx);
void *LLVMOrcCreateLLJIT(void **ret, void *builder);
void *LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(void *session);
void LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(void *layer, void *listener);
void *LLVMOrcLLJITGetMainJITDylib(void *jit);
void *LLVMOrcLLJITAddLLVMIRModule(void *jit, void *dylib, void *module);
void *LLVMOrcLLJITLookup(void *jit, uint64_t *ret, const char *name);

typedef uint64_t clock_fn(void);
typedef void leaf_fn(uint64_t ns, clock_fn *clock);
typedef uint64_t chain_fn(leaf_fn *leaf, uint64_t ns, clock_fn *clock);

static void no(const char *why)
{
	fprintf(stderr, "llvm: %s\n", why);
	exit(1);
}

static void check(void *error)
{
	if (error)
		no(LLVMGetErrorMessage(error));
}

static void *make_layer(void *ctx, void *session, const char *triple)
{
	void *layer =
		LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
	void *listener = LLVMCreatePerfJITEventListener();

	(void)ctx, (void)triple;
	if (!listener)
		no("it was built without its listener for perf");
	LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, listener);
	return layer;
}

static void add(void *jit, void *buffer)
{
	void *context = LLVMOrcCreateNewThreadSafeContext();
	void *module;
	char *why = NULL;

	if (LLVMParseIRInContext(LLVMOrcThreadSafeContextGetContext(context), buffer,
				 &module, &why))
		no(why);
	check(LLVMOrcLLJITAddLLVMIRModule(
		jit, LLVMOrcLLJITGetMainJITDylib(jit),
		LLVMOrcCreateNewThreadSafeModule(module, context)));
}

static uint64_t find(void *jit, const char *name)
{
	uint64_t addr;

	check(LLVMOrcLLJITLookup(jit, &addr, name));
	return addr;
}

/* The listener keeps 4 KiB back: the records of these functions push the others out. */
static void add_others(void *jit)
{
	static char text[OTHERS * 64];
	size_t len = 0;

	for (int i = 0; i < OTHERS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"define void @other%d() {\n ret void\n}\n", i);
	add(jit, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, len, "others"));
	(void)find(jit, "other0");
}

static void *compile(const char *path)
{
	void *builder = LLVMOrcCreateLLJITBuilder();
	void *buffer, *jit;
	char *why = NULL;

	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &why))
		no(why);
	LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, make_layer, NULL);
	check(LLVMOrcCreateLLJIT(&jit, builder));
	add(jit, buffer);
	(void)find(jit, "f3");
	add_others(jit);
	return jit;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void __attribute__((noinline)) run(void *jit, uint64_t seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000;
	chain_fn *chain = (chain_fn *)find(jit, "f3");
	leaf_fn *leaves[] = { (leaf_fn *)find(jit, "leaf_a"),
			      (leaf_fn *)find(jit, "leaf_b"),
			      (leaf_fn *)find(jit, "leaf_c") };
	const uint64_t ns[] = { 5000000, 3000000, 2000000 };

	puts("ready");
	fflush(stdout);
	while (clock_ns(CLOCK_MONOTONIC) < end)
		for (int i = 0; i < 3; i++)
			chain(leaves[i], ns[i], cpu_ns);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		no("FILE.ll SECONDS");
	run(compile(argv[1]), strtoull(argv[2], NULL, 10));
	return 0;
}
