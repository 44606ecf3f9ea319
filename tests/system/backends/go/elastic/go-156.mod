module example.com/otelprof/backends/elastic

go 1.25.0

require (
	github.com/open-telemetry/opentelemetry-collector-contrib/exporter/elasticsearchexporter v0.156.0
	go.opentelemetry.io/collector/component v1.62.0
	go.opentelemetry.io/collector/component/componenttest v0.156.0
	go.opentelemetry.io/collector/confmap v1.62.0
	// That version of the profiler brings confmap 1.64, whose like this is.
	go.opentelemetry.io/collector/confmap/xconfmap v0.158.0
	go.opentelemetry.io/collector/exporter v1.62.0
	go.opentelemetry.io/collector/exporter/xexporter v0.156.0
	go.opentelemetry.io/collector/pdata/pprofile v0.156.0
)

// The exporter asks for a version that proxies do not have.
replace go.opentelemetry.io/ebpf-profiler => go.opentelemetry.io/ebpf-profiler v0.0.202633
