// SPDX-License-Identifier: Apache-2.0

// Both ends of a gateway under test: agents that send recorded requests, and a back end that
// counts what arrives. Driven by gateway.py.
//
//	gateway sink [-delay D] [-keep FILE] ADDR:PORT
//	gateway replay -requests FILE -agents N -window D [...] ADDR:PORT
package main

import (
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc/encoding"
)

const method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// zipped is a compressor for bytes that are compressed already, so that a replay takes little
// CPU time beside what it measures.
type zipped struct{ encoding.Compressor }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (zipped) Name() string { return "gzip" }

func (zipped) Compress(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }

func main() {
	encoding.RegisterCodecV2(raw{})
	commands := map[string]func([]string) error{"sink": sinkMain, "replay": replayMain}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: gateway sink|replay ...")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "gateway %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
