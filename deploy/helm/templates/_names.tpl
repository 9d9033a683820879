{{/* Names, labels and images. */}}

{{- define "svc.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- /* With "-agent-" and a number a pod's name must fit into a label. */ -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "svc.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .part }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "svc.image" -}}
{{- $image := index .root.Values.image .name -}}
{{- if and $image.digest $image.tag -}}
  {{- fail (printf "image.%s: tag and digest are both set, and a tag has no effect beside a digest: leave one out" .name) -}}
{{- end -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $image.repository $image.digest }}
{{- else -}}
{{ printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) }}
{{- end -}}
{{- end -}}

{{- define "svc.serviceAccount" -}}
{{- $account := (index .root.Values .name).serviceAccount -}}
{{- if $account.name -}}
{{ $account.name }}
{{- else if $account.create -}}
{{ printf "%s-%s" (include "svc.fullname" .root) .name }}
{{- else -}}
default
{{- end -}}
{{- end -}}
