module example.com/otelprof/backends/pyroscope

go 1.25.8

require (
	github.com/go-kit/log v0.2.1
	github.com/grafana/dskit v0.0.0-20260616135346-e96eda8260cd
	github.com/grafana/pyroscope/v2 v2.2.1
	github.com/prometheus/common v0.67.5
)

// As in Pyroscope's own go.mod.
replace (
	github.com/hashicorp/memberlist => github.com/grafana/memberlist v0.3.1-0.20260515134459-1798cf41aca7
	gopkg.in/yaml.v3 => github.com/colega/go-yaml-yaml v0.0.0-20220720105220-255a8d16d094
)
