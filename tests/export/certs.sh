#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Certificates for the TLS tests, made anew in the directory $1: a CA, a server's (good and
# expired) and a client's, and a second CA that signed none of them.
set -eu
cd "$1"
key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

ca() {
	openssl req -x509 $key -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1"
}

signed() { # name, days
	openssl req $key -keyout "$1.key" -out "$1.csr" -subj /CN=localhost
	openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial \
		-days "$2" -extfile names -out "$1.pem"
}

printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >names
ca ca
ca other
signed server 2
signed expired -1
signed client 2
openssl pkey -in client.key -aes128 -passout pass:x -out locked.key
