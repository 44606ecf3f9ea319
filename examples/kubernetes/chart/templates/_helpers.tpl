{{- /*
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- define "otelprof.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "otelprof.agent" -}}{{ include "otelprof.fullname" . }}-agent{{- end -}}
{{- define "otelprof.gateway" -}}{{ include "otelprof.fullname" . }}-gateway{{- end -}}
{{/* The Service whose name resolves to all gateways. */}}
{{- define "otelprof.gateways" -}}{{ include "otelprof.fullname" . }}-gateways{{- end -}}

{{/* What selects pods, and must never change: (dict "root" $ "component" "agent") */}}
{{- define "otelprof.selector" -}}
app.kubernetes.io/name: otelprof-{{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "otelprof.labels" -}}
{{ include "otelprof.selector" . }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: otelprof
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "otelprof.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "otelprof.agentAccount" -}}
{{ .Values.agent.serviceAccount.name | default (include "otelprof.agent" .) }}
{{- end -}}

{{- define "otelprof.gatewayAccount" -}}
{{ .Values.gateway.serviceAccount.name | default (include "otelprof.gateway" .) }}
{{- end -}}

{{- define "otelprof.agentSecret" -}}
{{ .Values.mtls.agentSecret | default (printf "%s-tls" (include "otelprof.agent" .)) }}
{{- end -}}

{{- define "otelprof.gatewaySecret" -}}
{{ .Values.mtls.gatewaySecret | default (printf "%s-tls" (include "otelprof.gateway" .)) }}
{{- end -}}

{{- define "otelprof.backend" -}}
{{ required "backend.endpoint must be set: host:port of what takes OTLP Profiles over gRPC" .Values.backend.endpoint }}
{{- end -}}

{{/* The exporter to the backend, of the gateway or of agents without one. */}}
{{- define "otelprof.backendExporter" -}}
endpoint: {{ include "otelprof.backend" . | quote }}
tls:
  insecure: {{ .Values.backend.insecure }}
  {{- if .Values.backend.caSecret }}
  ca_file: /etc/otelprof-backend/ca.crt
  {{- end }}
{{- with .Values.backend.headers }}
headers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What probes ask; it answers with 200 while all pipelines run. */}}
{{- define "otelprof.healthCheck" -}}
health_check:
  endpoint: 0.0.0.0:13133
{{- end -}}

{{/* First in a pipeline, with its limits. */}}
{{- define "otelprof.memoryLimiter" -}}
# Refuses profiles while Go's memory is short; who sent them tries again.
memory_limiter:
  check_interval: 1s
  limit_percentage: {{ .limitPercentage }}
  spike_limit_percentage: {{ .spikeLimitPercentage }}
{{- end -}}

{{/* Port 8888 tells what became of every sample. */}}
{{- define "otelprof.telemetry" -}}
metrics:
  readers:
  - pull:
      exporter:
        prometheus:
          host: 0.0.0.0
          port: 8888
{{- end -}}

{{/* Ports for metrics in a NetworkPolicy. */}}
{{- define "otelprof.metricsRule" -}}
- ports:
  - port: metrics
  {{- with .Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
