{{/* The parts of a pod that api, worker and the Job of the secret key share. */}}

{{/* How others reach api or worker; `port` is the number of its port. */}}
{{- define "svc.gatewayPort" -}}
ports:
  - { name: http, containerPort: {{ .port }} }
# A first start changes the schema, which takes minutes with millions of requests.
startupProbe:
  httpGet: { path: /health, port: http }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 450
livenessProbe:
  httpGet: { path: /health, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
# It asks PostgreSQL and the result store for up to 2 s.
readinessProbe:
  httpGet: { path: /ready, port: http }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{- define "svc.gatewayContainer" -}}
image: {{ include "svc.image" (dict "root" .root "name" "gateway") }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{ include "svc.environment" (dict "values" .root.Values.gateway "more" .moreEnvironment) }}
resources: {{- toYaml (index .root.Values (default .part .like)).resources | nindent 2 }}
securityContext: {{- include "svc.containerSecurity" . | nindent 2 }}
volumeMounts:
  - { name: config, mountPath: /etc/svc, readOnly: true }
  - { name: state, mountPath: /var/lib/svc }
  - { name: tmp, mountPath: /tmp }
  {{- if .root.Values.gateway.resultsClaim }}
  - { name: results, mountPath: /var/lib/svc-results }
  {{- end }}
  {{- with include "svc.mounts" .root.Values.gateway }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "svc.gatewayVolumes" -}}
- name: config
  configMap: { name: {{ include "svc.fullname" .root }}-gateway }
- name: state
  emptyDir: { sizeLimit: 64Mi }
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
{{- with .root.Values.gateway.resultsClaim }}
- name: results
  persistentVolumeClaim: { claimName: {{ . }} }
{{- end }}
{{- with include "svc.volumes" .root.Values.gateway }}
{{ . }}
{{- end }}
{{- end -}}
