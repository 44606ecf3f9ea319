module example.com/otelprof/seccomp

go 1.24.3

require (
	github.com/containerd/containerd/v2 v2.2.1
	github.com/opencontainers/runtime-spec v1.3.0
)
