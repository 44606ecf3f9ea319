// SPDX-License-Identifier: Apache-2.0

// Command seccomp prints what containerd makes of "seccompProfile: RuntimeDefault" for a
// container with the given capabilities, as the JSON of the OCI runtime specification.
//
//	seccomp CAP_BPF CAP_PERFMON
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func main() {
	capabilities := &specs.LinuxCapabilities{Bounding: os.Args[1:]}
	profile := seccomp.DefaultProfile(&specs.Spec{
		Process: &specs.Process{Capabilities: capabilities},
		Linux:   &specs.Linux{},
	})
	if err := json.NewEncoder(os.Stdout).Encode(profile); err != nil {
		log.Fatal(err)
	}
}
