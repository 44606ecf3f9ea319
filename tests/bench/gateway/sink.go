// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip"
)

// totals is what arrived so far; each line of standard input is answered by one as JSON.
type totals struct {
	Requests  uint64 `json:"requests"`
	Samples   uint64 `json:"samples"`
	RawBytes  uint64 `json:"raw_bytes"`
	WireBytes uint64 `json:"wire_bytes"`
	Malformed uint64 `json:"malformed"`
}

type sink struct {
	mu    sync.Mutex
	sum   totals
	delay time.Duration
	keep  *os.File // of the requests
	log   *os.File // a line for each: "UNIX_NANOSECONDS RAW_BYTES WIRE_BYTES SAMPLES"
}

func (s *sink) handle(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	now := time.Now().UnixNano()
	length := wireBytes(stream.Context())
	samples, err := samplesOf(request)
	select { // a slow back end
	case <-time.After(s.delay):
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.Requests++
	s.sum.Samples += samples
	s.sum.RawBytes += uint64(len(request))
	s.sum.WireBytes += uint64(length)
	if err != nil {
		s.sum.Malformed++
	}
	if s.keep != nil {
		var header [4]byte
		binary.BigEndian.PutUint32(header[:], uint32(len(request)))
		s.keep.Write(header[:])
		s.keep.Write(request)
		fmt.Fprintln(s.log, now, len(request), length, samples)
	}
	var empty []byte
	return stream.SendMsg(&empty)
}

// tell answers each line of standard input, until it ends.
func (s *sink) tell() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		s.mu.Lock()
		text, _ := json.Marshal(s.sum)
		s.mu.Unlock()
		fmt.Println(string(text))
	}
}

func sinkMain(args []string) error {
	flags := flag.NewFlagSet("sink", flag.ExitOnError)
	delay := flags.Duration("delay", 0, "before each answer")
	keep := flags.String("keep", "", "write requests there, and what was on the wire to FILE.log")
	flags.Parse(args)
	s := &sink{delay: *delay}
	if *keep != "" {
		var err error
		if s.keep, err = os.Create(*keep); err != nil {
			return err
		}
		if s.log, err = os.Create(*keep + ".log"); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", flags.Arg(0))
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(s.handle), grpc.StatsHandler(wire{}),
		grpc.MaxRecvMsgSize(64<<20))
	go func() {
		s.tell()
		server.Stop()
	}()
	fmt.Println("listening", listener.Addr())
	return server.Serve(listener)
}
