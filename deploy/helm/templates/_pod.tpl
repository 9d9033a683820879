{{/* What every pod has; `part` names it, and `like` the part whose values it takes, if that is another one. */}}

{{- define "svc.podSettings" -}}
{{- $values := index .root.Values (default .part .like) -}}
automountServiceAccountToken: false
enableServiceLinks: false
serviceAccountName: {{ include "svc.serviceAccount" (dict "root" .root "name" .account) }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
# The user `node` of the images.
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "svc.selector" (pick $ "root" "part") | nindent 8 }}
  {{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with $values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "svc.podMetadata" -}}
labels: {{- include "svc.labels" (pick . "root" "part") | nindent 2 }}
annotations:
  # Another configuration starts the pods anew.
  checksum/config: {{ .config | sha256sum }}
  {{- with (index .root.Values .part).podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "svc.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Variables of the environment: those of `env`, then all of the Secret. */}}
{{- define "svc.environment" -}}
env:
  {{- with .ownName }}
  - name: {{ . }}
    valueFrom: { fieldRef: { fieldPath: metadata.name } }
  {{- end }}
  {{- with .more }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- range $name, $value := merge (deepCopy .values.env) (dict "SVC_LOG_FORMAT" "json") }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
envFrom:
  - secretRef: { name: {{ .values.secret }} }
{{- end -}}

{{- define "svc.mounts" -}}
{{- range $index, $mount := .mounts -}}
{{- if $index }}{{ "\n" }}{{ end -}}
- { name: {{ $mount.name }}, mountPath: {{ $mount.mountPath }}, readOnly: true }
{{- end -}}
{{- end -}}

{{- define "svc.volumes" -}}
{{- range $index, $mount := .mounts -}}
{{- if $index }}{{ "\n" }}{{ end -}}
- name: {{ $mount.name }}
  {{- if $mount.secret }}
  # 0440.
  secret: { secretName: {{ $mount.secret }}, defaultMode: 288 }
  {{- else }}
  configMap: { name: {{ $mount.configMap }} }
  {{- end }}
{{- end -}}
{{- end -}}
