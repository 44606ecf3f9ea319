/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC server with a script, for the tests of the exporter.
 *
 *   server PORT CERT KEY CLIENT_CA STEP...     ("-" for a file that is not given)
 *
 * Each call is answered by the next step, the last one again and again:
 *   ok | status:CODE:TEXT | retry:CODE:MILLISECONDS | partial:COUNT:TEXT | hang | junk
 *
 * Prints "port N", then a line a call: the step, the length and start of the request as
 * it was after gzip, whether it was compressed on the wire, and the metadata of interest.
 */
#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <zlib.h>

enum {
	PEM_BYTES = 1 << 16,
	BODY_BYTES = 1 << 23,
	REPLY_BYTES = 256,
	BODY_SHOWN = 16,
	GZIP_WINDOW = 15 + 16,
};

#define DIE(...)                                                                         \
	do {                                                                             \
		(void)fprintf(stderr, "server: " __VA_ARGS__);                           \
		(void)fputc('\n', stderr);                                               \
		exit(2);                                                                 \
	} while (0)

static const char want_method[] =
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

static char *read_pem(const char *path)
{
	char *text;
	size_t n;
	FILE *f;

	if (!strcmp(path, "-"))
		return NULL;
	f = fopen(path, "r");
	text = calloc(1, PEM_BYTES);
	if (!f || !text)
		DIE("%s: %s", path, strerror(errno));
	n = fread(text, 1, PEM_BYTES - 1, f);
	if (!n)
		DIE("%s is empty", path);
	(void)fclose(f);
	return text;
}

static grpc_server_credentials *make_creds(char **argv)
{
	grpc_ssl_pem_key_cert_pair pair = {
		.cert_chain = read_pem(argv[0]),
		.private_key = read_pem(argv[1]),
	};
	char *client_ca = read_pem(argv[2]);

	if (!pair.cert_chain)
		return grpc_insecure_server_credentials_create();
	return grpc_ssl_server_credentials_create_ex(
		client_ca, &pair, 1,
		client_ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
			  : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
		NULL);
}

static void wait_next(grpc_completion_queue *queue)
{
	(void)grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
}

static void run_batch(grpc_call *call, grpc_completion_queue *queue, const grpc_op *ops,
		      size_t len)
{
	if (grpc_call_start_batch(call, ops, len, (void *)1, NULL) != GRPC_CALL_OK)
		DIE("a batch was refused");
	wait_next(queue);
}

/* The reply's message: partial success by hand. Returns its length. */
static size_t partial(uint8_t *out, unsigned int rejected, const char *text)
{
	size_t len = strlen(text);

	out[0] = 0x0a; /* partial_success */
	out[1] = (uint8_t)(4 + len);
	out[2] = 0x08; /* rejected_profiles; below 128 */
	out[3] = (uint8_t)rejected;
	out[4] = 0x12; /* error_message */
	out[5] = (uint8_t)len;
	memcpy(out + 6, text, len);
	return 6 + len;
}

static size_t varint(uint8_t *out, uint64_t v)
{
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

/* google.rpc.Status with one RetryInfo. Returns its length. */
static size_t retry_info(uint8_t *out, unsigned int code, unsigned int ms)
{
	static const char url[] = "type.googleapis.com/google.rpc.RetryInfo";
	uint8_t duration[32];
	size_t d = 0;
	size_t n = 0;

	duration[d++] = 0x08;
	d += varint(duration + d, ms / 1000);
	duration[d++] = 0x10;
	d += varint(duration + d, (uint64_t)(ms % 1000) * 1000000);
	out[n++] = 0x08;
	out[n++] = (uint8_t)code;
	out[n++] = 0x1a;
	out[n++] = (uint8_t)(2 + sizeof(url) - 1 + 2 + 2 + d);
	out[n++] = 0x0a;
	out[n++] = sizeof(url) - 1;
	memcpy(out + n, url, sizeof(url) - 1);
	n += sizeof(url) - 1;
	out[n++] = 0x12;
	out[n++] = (uint8_t)(2 + d);
	out[n++] = 0x0a;
	out[n++] = (uint8_t)d;
	memcpy(out + n, duration, d);
	return n + d;
}

struct answer {
	grpc_status_code status;
	char text[128];
	uint8_t reply[REPLY_BYTES];
	size_t reply_len;
	uint8_t details[REPLY_BYTES];
	size_t details_len;
	bool hang;
};

static struct answer read_step(const char *step)
{
	struct answer a = { .status = GRPC_STATUS_OK };
	unsigned int x = 0;
	unsigned int y = 0;

	if (!strcmp(step, "hang")) {
		a.hang = true;
	} else if (!strcmp(step, "junk")) {
		memset(a.reply, 0xff, 8);
		a.reply_len = 8;
	} else if (sscanf(step, "status:%u:%127[^\n]", &x, a.text) == 2) {
		a.status = (grpc_status_code)x;
	} else if (sscanf(step, "retry:%u:%u", &x, &y) == 2) {
		a.status = (grpc_status_code)x;
		(void)strcpy(a.text, "later");
		a.details_len = retry_info(a.details, x, y);
	} else if (sscanf(step, "partial:%u:%127[^\n]", &x, a.text) == 2) {
		a.reply_len = partial(a.reply, x, a.text);
	} else if (strcmp(step, "ok") != 0) {
		DIE("no step \"%s\"", step);
	}
	return a;
}

static void send_answer(grpc_call *call, grpc_completion_queue *queue, struct answer *a)
{
	grpc_metadata details = {
		.key = grpc_slice_from_static_string("grpc-status-details-bin"),
		.value = grpc_slice_from_copied_buffer((const char *)a->details,
						       a->details_len),
	};
	grpc_slice text = grpc_slice_from_copied_string(a->text);
	grpc_slice body =
		grpc_slice_from_copied_buffer((const char *)a->reply, a->reply_len);
	grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&body, 1);
	int cancelled = 0;
	grpc_op ops[4] = {
		{ .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
		  .data.recv_close_on_server = { &cancelled } },
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
		  .data.send_status_from_server = { .trailing_metadata_count =
							    a->details_len ? 1 : 0,
						    .trailing_metadata = &details,
						    .status = a->status,
						    .status_details = &text } },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message = { buffer } },
	};

	if (a->hang)
		run_batch(call, queue, ops, 1);
	else
		run_batch(call, queue, ops, a->status == GRPC_STATUS_OK ? 4 : 3);
	grpc_byte_buffer_destroy(buffer);
	grpc_slice_unref(body);
	grpc_slice_unref(text);
	grpc_slice_unref(details.value);
}

/* The request's bytes as they were before compression, into @out. Returns the length. */
static size_t read_body(grpc_byte_buffer *buffer, uint8_t *out, bool *ret_compressed)
{
	z_stream z = { 0 };
	grpc_byte_buffer_reader reader;
	grpc_slice s;
	size_t len;

	*ret_compressed = buffer->data.raw.compression == GRPC_COMPRESS_GZIP;
	if (!grpc_byte_buffer_reader_init(&reader, buffer))
		DIE("no reader");
	s = grpc_byte_buffer_reader_readall(&reader);
	len = GRPC_SLICE_LENGTH(s);
	if (*ret_compressed) {
		z.next_in = GRPC_SLICE_START_PTR(s);
		z.avail_in = (uInt)len;
		z.next_out = out;
		z.avail_out = BODY_BYTES;
		if (inflateInit2(&z, GZIP_WINDOW) != Z_OK ||
		    inflate(&z, Z_FINISH) != Z_STREAM_END)
			DIE("the request is not gzip");
		len = z.total_out;
		(void)inflateEnd(&z);
	} else {
		memcpy(out, GRPC_SLICE_START_PTR(s), len < BODY_BYTES ? len : BODY_BYTES);
	}
	grpc_slice_unref(s);
	grpc_byte_buffer_reader_destroy(&reader);
	return len;
}

static void print_metadata(const grpc_metadata_array *md)
{
	static const char *const shown[] = { "user-agent", "authorization", "x-test" };
	size_t i;
	size_t j;

	for (i = 0; i < md->count; i++) {
		char *key = grpc_slice_to_c_string(md->metadata[i].key);
		char *value = grpc_slice_to_c_string(md->metadata[i].value);

		for (j = 0; j < sizeof(shown) / sizeof(shown[0]); j++) {
			if (!strcmp(key, shown[j]))
				(void)printf(" %s=\"%s\"", key, value);
		}
		gpr_free(key);
		gpr_free(value);
	}
}

static void serve_one(grpc_server *server, grpc_completion_queue *queue, const char *step)
{
	struct answer a = read_step(step);
	grpc_metadata_array md;
	grpc_call_details details;
	grpc_byte_buffer *buffer = NULL;
	grpc_op op = { .op = GRPC_OP_RECV_MESSAGE, .data.recv_message = { &buffer } };
	static uint8_t body[BODY_BYTES];
	bool compressed = false;
	grpc_call *call = NULL;
	size_t len = 0;

	grpc_metadata_array_init(&md);
	grpc_call_details_init(&details);
	if (grpc_server_request_call(server, &call, &details, &md, queue, queue,
				     (void *)2) != GRPC_CALL_OK)
		DIE("cannot take calls");
	wait_next(queue);
	if (grpc_slice_str_cmp(details.method, want_method) != 0)
		a = read_step("status:12:unknown method");
	run_batch(call, queue, &op, 1);
	if (buffer)
		len = read_body(buffer, body, &compressed);
	(void)printf("call %s len=%zu body=%.*s gzip=%d", step, len,
		     (int)(len < BODY_SHOWN ? len : BODY_SHOWN), (const char *)body,
		     compressed);
	print_metadata(&md);
	(void)printf("\n");
	(void)fflush(stdout);
	send_answer(call, queue, &a);
	if (buffer)
		grpc_byte_buffer_destroy(buffer);
	grpc_metadata_array_destroy(&md);
	grpc_call_details_destroy(&details);
	grpc_call_unref(call);
}

int main(int argc, char **argv)
{
	/* The bytes as they come: this program undoes the compression itself. */
	grpc_arg args[] = {
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)(uintptr_t)GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION,
		  .value.integer = 0 },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)(uintptr_t)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
		  .value.integer = BODY_BYTES },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)(uintptr_t)GRPC_ARG_ALLOW_REUSEPORT,
		  .value.integer = 0 },
	};
	const grpc_channel_args all = { .num_args = 3, .args = args };
	grpc_completion_queue *queue;
	grpc_server *server;
	char address[64];
	int step = 5;
	int port;

	if (argc < 6)
		DIE("usage: server PORT CERT KEY CLIENT_CA STEP...");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	grpc_init();
	queue = grpc_completion_queue_create_for_next(NULL);
	server = grpc_server_create(&all, NULL);
	grpc_server_register_completion_queue(server, queue, NULL);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%s", argv[1]);
	port = grpc_server_add_http2_port(server, address, make_creds(argv + 2));
	if (!port)
		DIE("cannot listen at %s", address);
	grpc_server_start(server);
	(void)printf("port %d\n", port);
	(void)fflush(stdout);
	for (;;) {
		serve_one(server, queue, argv[step]);
		if (step < argc - 1)
			step++;
	}
}
