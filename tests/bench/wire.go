// SPDX-License-Identifier: Apache-2.0

// What the sinks of the bench share: requests as they came, and their length on the wire.
// build-peer.sh and gateway/build.sh copy this file beside the program's own.
package main

import (
	"context"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
)

// raw is a codec that leaves the bytes alone.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

type wireKey struct{}

// wire notes the length of each message on the wire.
type wire struct{}

func (wire) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, wireKey{}, new(int))
}

func (wire) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		*ctx.Value(wireKey{}).(*int) = in.CompressedLength
	}
}

func (wire) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (wire) HandleConn(context.Context, stats.ConnStats)                       {}

// wireBytes is the length on the wire of the message that came last on a stream.
func wireBytes(ctx context.Context) int { return *ctx.Value(wireKey{}).(*int) }
