/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP transport module. This folder is the only one that uses curl. It makes one
 * POST at a time over one connection, which is kept for the next. curl starts a thread
 * for each name look-up, which has all signals blocked like its creator.
 */
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/transport/compress.h"
#include "export/transport/http/response.h"
#include "export/transport/retry.h"
#include "export/transport/tls/explain.h"
#include "export/transport/transport.h"

enum {
	COMPRESSIONS = OP_COMPRESSION_ZSTD + 1,
	/* An older connection is not used again, so that a silent peer is
	 * noticed sooner. */
	CONNECTION_AGE_S = 300,
};

struct transport {
	CURLM *multi; /* has a wakeup call, which cancel() needs */
	CURL *easy;
	char *url;
	struct curl_slist *headers[COMPRESSIONS]; /* up to the requested one */
	bool tls;
	enum op_compression wanted;	 /* the requested one */
	enum op_compression compression; /* that the server accepts, if known */
	/* The server refused a request in every form, so compression was not the
	 * reason. Until it accepts one, requests are sent once and uncompressed, which
	 * every server accepts. */
	bool refuses_all;
	char error[CURL_ERROR_SIZE];

	pthread_mutex_t lock;
	bool cancelled; /* permanently */
};

static bool is_cancelled(struct transport *t)
{
	bool cancelled;

	(void)pthread_mutex_lock(&t->lock);
	cancelled = t->cancelled;
	(void)pthread_mutex_unlock(&t->lock);
	return cancelled;
}

static void transport_cancel(void *transport)
{
	struct transport *t = transport;

	(void)pthread_mutex_lock(&t->lock);
	t->cancelled = true;
	(void)curl_multi_wakeup(t->multi);
	(void)pthread_mutex_unlock(&t->lock);
}

static bool set_blob(CURL *easy, CURLoption option, const char *pem)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };

	if (!pem)
		return true;
	blob.data = (void *)(uintptr_t)pem;
	blob.len = strlen(pem);
	return !curl_easy_setopt(easy, option, &blob);
}

static bool set_certificates(CURL *easy, const struct op_transport_tls *certs)
{
	return set_blob(easy, CURLOPT_CAINFO_BLOB, certs->ca_pem) &&
	       set_blob(easy, CURLOPT_SSLCERT_BLOB, certs->client_cert_pem) &&
	       set_blob(easy, CURLOPT_SSLKEY_BLOB, certs->client_key_pem);
}

/* Make a handle with all options that are the same for every request. */
static CURL *make_easy(struct transport *t, const char *user_agent, const char *socket,
		       const struct op_transport_tls *certs)
{
	CURL *c = curl_easy_init();

	if (!c)
		return NULL;
	/* No files (.netrc), signals, progress, redirects, or protocols other
	 * than these. */
	if (curl_easy_setopt(c, CURLOPT_URL, t->url) ||
	    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) ||
	    curl_easy_setopt(c, CURLOPT_POST, 1L) ||
	    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) ||
	    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") ||
	    curl_easy_setopt(c, CURLOPT_USERAGENT, user_agent) ||
	    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error) ||
	    curl_easy_setopt(c, CURLOPT_MAXAGE_CONN, (long)CONNECTION_AGE_S) ||
	    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, op_response_body) ||
	    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, op_response_header) ||
	    (socket && curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, socket)) ||
	    (t->tls && !set_certificates(c, certs))) {
		curl_easy_cleanup(c);
		return NULL;
	}
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Otherwise the end of a try waits until the name server answers or the resolver
	 * gives up, because curl joins the thread that looks up a name. */
	(void)curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
#endif
	return c;
}

static int add_header(struct curl_slist **list, const char *key, const char *value)
{
	_cleanup_(op_wipep) char *line = NULL;
	struct curl_slist *longer;

	/* In curl's syntax "Key:" removes a header, and "Key;" sends an empty one. */
	if (asprintf(&line, *value ? "%s: %s" : "%s:", key, value) < 0) {
		line = NULL;
		return -ENOMEM;
	}
	longer = curl_slist_append(*list, line);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int make_headers(struct curl_slist **list, enum op_compression compression,
			const struct op_transport_config *config)
{
	static const char *const encodings[COMPRESSIONS] = {
		[OP_COMPRESSION_GZIP] = "gzip",
		[OP_COMPRESSION_ZSTD] = "zstd",
	};
	size_t i;
	int r;

	r = add_header(list, "Content-Type", "application/x-protobuf");
	/* Do not wait for "100 Continue" with larger requests. */
	if (!r)
		r = add_header(list, "Expect", "");
	if (!r && encodings[compression])
		r = add_header(list, "Content-Encoding", encodings[compression]);
	for (i = 0; !r && i < config->headers_len; i++)
		r = add_header(list, config->headers[i].key, config->headers[i].value);
	return r;
}

static void transport_close(void *transport)
{
	struct transport *t = transport;
	size_t i;

	curl_easy_cleanup(t->easy);
	if (t->multi)
		(void)curl_multi_cleanup(t->multi);
	for (i = 0; i < COMPRESSIONS; i++)
		curl_slist_free_all(t->headers[i]);
	curl_global_cleanup();
	(void)pthread_mutex_destroy(&t->lock);
	free(t->url);
	free(t);
}

static int open_curl(struct transport *t, const struct op_transport_config *config,
		     struct op_log *log)
{
	enum op_compression i;
	int r;

	t->url = strdup(config->url);
	if (!t->url)
		return -ENOMEM;
	t->tls = config->tls;
	t->wanted = config->compression;
	t->compression = config->compression;
	for (i = 0; i <= t->compression; i++) {
		r = make_headers(&t->headers[i], i, config);
		if (r < 0)
			return r;
	}
	t->multi = curl_multi_init();
	t->easy = make_easy(t, config->user_agent, config->socket, &config->certs);
	if (!t->multi || !t->easy)
		return op_fail(log, -ENOMEM, "HTTP exporter: curl cannot be set up");
	return 0;
}

static int transport_open(const struct op_transport_config *config, struct op_log *log,
			  void **ret)
{
	struct transport *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(t);
		return op_fail(log, -ENOMEM, "HTTP exporter: curl cannot be set up");
	}
	(void)pthread_mutex_init(&t->lock, NULL);
	r = open_curl(t, config, log);
	if (r < 0) {
		transport_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* Open connections use the old certificates, so they are closed with their handles. */
static int transport_set_tls(void *transport, const struct op_transport_tls *certs)
{
	struct transport *t = transport;
	CURL *fresh = curl_easy_duphandle(t->easy);
	CURLM *multi = curl_multi_init();
	CURLM *old = t->multi;

	if (!fresh || !multi || !set_certificates(fresh, certs)) {
		curl_easy_cleanup(fresh);
		if (multi)
			(void)curl_multi_cleanup(multi);
		return -ENOMEM;
	}
	curl_easy_cleanup(t->easy);
	t->easy = fresh;
	(void)pthread_mutex_lock(&t->lock);
	t->multi = multi;
	(void)pthread_mutex_unlock(&t->lock);
	(void)curl_multi_cleanup(old);
	return 0;
}

/* Run the transfer to its end. Returns curl's result. */
static CURLcode run(struct transport *t)
{
	CURLcode code = CURLE_ABORTED_BY_CALLBACK;
	int running = 1;
	CURLMsg *m;
	int left;

	if (curl_multi_add_handle(t->multi, t->easy))
		return CURLE_OUT_OF_MEMORY;
	while (running && !is_cancelled(t)) {
		if (curl_multi_perform(t->multi, &running))
			break;
		if (running)
			(void)curl_multi_poll(t->multi, NULL, 0, OP_MS_PER_S, NULL);
	}
	while ((m = curl_multi_info_read(t->multi, &left))) {
		if (m->msg == CURLMSG_DONE)
			code = m->data.result;
	}
	(void)curl_multi_remove_handle(t->multi, t->easy);
	return code;
}

static void read_failure(struct transport *t, CURLcode code,
			 struct op_transport_result *result)
{
	(void)strlcpy(result->message, t->error[0] ? t->error : curl_easy_strerror(code),
		      sizeof(result->message));
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		result->grpc_status = OP_GRPC_CANCELLED;
		break;
	case CURLE_OPERATION_TIMEDOUT:
		result->grpc_status = OP_GRPC_DEADLINE_EXCEEDED;
		break;
	case CURLE_WRITE_ERROR:
		/* OTLP 1.10 forbids a retry. */
		result->grpc_status = OP_GRPC_INTERNAL;
		(void)strlcpy(result->message, "the response is larger than 4 MiB",
			      sizeof(result->message));
		break;
	default:
		result->grpc_status = OP_GRPC_UNAVAILABLE;
		if (t->tls)
			op_tls_explain(result->message, sizeof(result->message));
		break;
	}
}

static int compress_by(enum op_compression compression, const void *bytes, size_t len,
		       void **ret, size_t *ret_len)
{
	return compression == OP_COMPRESSION_ZSTD ? op_zstd(bytes, len, ret, ret_len)
						  : op_gzip(bytes, len, ret, ret_len);
}

/* Send once. Returns 0 with a result, or -errno. */
static int post(struct transport *t, enum op_compression compression, const void *request,
		size_t len, uint32_t timeout_ms, struct op_transport_result *result)
{
	_cleanup_free_ struct op_response *response = calloc(1, sizeof(*response));
	_cleanup_free_ void *small = NULL;
	CURLcode code;
	int r;

	if (!response)
		return -ENOMEM;
	response->retry_after_ms = -1;
	if (compression != OP_COMPRESSION_NONE) {
		r = compress_by(compression, request, len, &small, &len);
		if (r < 0)
			return r;
		request = small;
	}
	t->error[0] = 0;
	if (curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, request) ||
	    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len) ||
	    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers[compression]) ||
	    curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms) ||
	    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, response) ||
	    curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, response))
		return -ENOMEM;
	code = run(t);
	if (code == CURLE_OK)
		op_response_read(response, t->easy, result);
	else
		read_failure(t, code, result);
	return 0;
}

static int transport_send(void *transport, const void *request, size_t len,
			  uint32_t timeout_ms, struct op_transport_result *ret)
{
	uint64_t end_ns = op_clock_monotonic_ns() + (uint64_t)timeout_ms * OP_NS_PER_MS;
	struct op_transport_result result;
	struct transport *t = transport;
	enum op_compression compression =
		t->refuses_all ? OP_COMPRESSION_NONE : t->compression;
	uint32_t recompressed = 0;
	int r;

	for (;; compression--, recompressed++) {
		uint64_t now_ns = op_clock_monotonic_ns();
		uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns) / OP_NS_PER_MS : 0;

		result = (struct op_transport_result){ .retry_delay_ms = -1 };
		/* for curl, 0 means no limit */
		r = post(t, compression, request, len,
			 OP_MAX((uint32_t)left_ms, UINT32_C(1)), &result);
		if (r < 0)
			return r;
		if (!op_response_refuses_encoding(&result))
			break;
		if (compression == OP_COMPRESSION_NONE) {
			t->refuses_all = true;
			break;
		}
	}
	result.recompressed = recompressed;
	result.compression = compression;
	if (result.grpc_status == OP_GRPC_OK) {
		t->compression = t->refuses_all ? t->wanted : compression;
		t->refuses_all = false;
	}
	*ret = result;
	return 0;
}

extern const struct op_transport_ops op_transport_module;
__attribute__((visibility("default")))
const struct op_transport_ops op_transport_module = {
	.abi = OP_TRANSPORT_ABI,
	.open = transport_open,
	.send = transport_send,
	.set_tls = transport_set_tls,
	.cancel = transport_cancel,
	.close = transport_close,
};
