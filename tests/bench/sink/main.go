// SPDX-License-Identifier: Apache-2.0

// A gRPC sink for both profilers of the bench: takes any unary call, keeps the bytes of
// each request as they came, and notes when it came and how long it was on the wire.
//
//	sink ADDR:PORT FILE
//
// FILE gets each request after its length as 4 bytes, big endian; FILE.log gets a line
// "UNIX_NANOSECONDS RAW_BYTES WIRE_BYTES" for each.
package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
)

type sink struct {
	mu   sync.Mutex
	data *os.File
	log  *os.File
}

func (s *sink) handle(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	now := time.Now().UnixNano()
	s.mu.Lock()
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(request)))
	s.data.Write(length[:])
	s.data.Write(request)
	fmt.Fprintf(s.log, "%d %d %d\n", now, len(request), wireBytes(stream.Context()))
	s.mu.Unlock()
	var empty []byte
	return stream.SendMsg(&empty)
}

func run(addr, path string) error {
	data, err := os.Create(path)
	if err != nil {
		return err
	}
	log, err := os.Create(path + ".log")
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	encoding.RegisterCodecV2(raw{})
	s := &sink{data: data, log: log}
	server := grpc.NewServer(grpc.UnknownServiceHandler(s.handle), grpc.StatsHandler(wire{}),
		grpc.MaxRecvMsgSize(64<<20))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stop
		server.Stop()
	}()
	fmt.Println("listening", listener.Addr())
	return server.Serve(listener)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sink ADDR:PORT FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sink:", err)
		os.Exit(1)
	}
}
