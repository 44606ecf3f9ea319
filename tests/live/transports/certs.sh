#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Certificates for the TLS tests, made anew in the directory $1: a CA, a server's (good and
# expired, and for another name) and a client's (also expired), and a second CA with a client
# of its own.
set -eu
cd "$1"
key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

ca() {
	openssl req -x509 $key -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1"
}

signed() { # name, days, CA, names
	openssl req $key -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
	openssl x509 -req -in "$1.csr" -CA "$3.pem" -CAkey "$3.key" -CAcreateserial \
		-days "$2" -extfile "$4" -out "$1.pem"
}

printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >names
printf 'subjectAltName=DNS:elsewhere.example\n' >elsewhere
ca ca
ca other
signed server 2 ca names
signed expired -1 ca names
signed misnamed 2 ca elsewhere
signed client 2 ca names
signed late -1 ca names
signed stranger 2 other names
openssl pkey -in client.key -aes128 -passout pass:x -out locked.key
