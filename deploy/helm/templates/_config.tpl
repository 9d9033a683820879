{{/* What the chart demands of the two configurations. Each refusal names the value and the key. */}}

{{- define "svc.gatewayConfig" -}}
{{- $config := include "svc.toml" (dict "root" . "text" .Values.gateway.config) | fromJson -}}
{{- with $config.Error }}{{ fail (printf "gateway.config is no TOML: %s" .) }}{{ end -}}
{{- include "svc.noSecrets" (dict "value" $config "key" "" "where" "gateway") -}}
{{- if not (hasPrefix "/var/lib/svc/" (dig "state_dir" "" $config)) -}}
  {{- fail "gateway.config: state_dir must lie in /var/lib/svc/, the only folder that can be written: state_dir = \"/var/lib/svc/state\"" -}}
{{- end -}}
{{- /* Whatever mode a volume asks for, Kubernetes lets the group of the pod read its files, and the program takes no such key. */ -}}
{{- if dig "security" "secret_key_file" "" $config -}}
  {{- fail "gateway.config: security.secret_key_file cannot be used: others could read any file that a pod mounts; put the key as SVC_SECRET_KEY into the Secret that gateway.secret names" -}}
{{- end -}}
{{- if and .Values.worker.enabled (not (has (dig "worker" "listen" "" $config) (list "0.0.0.0:3001" "[::]:3001"))) -}}
  {{- fail "gateway.config: worker.listen must be \"0.0.0.0:3001\", or \"[::]:3001\" with IPv6; otherwise the probes do not reach the worker" -}}
{{- end -}}
{{- if and .Values.api.enabled (not (has (dig "server" "listen" "0.0.0.0:3000" $config) (list "0.0.0.0:3000" "[::]:3000"))) -}}
  {{- fail "gateway.config: server.listen must be \"0.0.0.0:3000\" (also if absent), or \"[::]:3000\" with IPv6; otherwise nobody reaches the server" -}}
{{- end -}}
{{- if not (has (dig "server" "drain_secs" 20 $config | kindOf) (list "int" "int64" "float64")) -}}
  {{- fail "gateway.config: server.drain_secs must be a number here, because the pod's grace period follows from it: drain_secs = 20" -}}
{{- end -}}
{{- if and .Values.api.enabled .Values.api.ingress.enabled (not (dig "trusted_proxies" nil $config)) -}}
  {{- fail "gateway.config: trusted_proxies must name the ingress (api.ingress.enabled): without it all callers have one address" -}}
{{- end -}}
{{- $results := dig "result_storage" dict $config -}}
{{- if eq (dig "backend" "local" $results) "local" -}}
  {{- if not .Values.gateway.resultsClaim -}}
    {{- fail "gateway.config: result_storage.backend is local, so gateway.resultsClaim must name a volume that all pods share; otherwise take s3" -}}
  {{- end -}}
  {{- if not (hasPrefix "/var/lib/svc-results" (dig "root_dir" "" $results)) -}}
    {{- fail "gateway.config: result_storage.root_dir must be \"/var/lib/svc-results\", where gateway.resultsClaim is mounted" -}}
  {{- end -}}
{{- else -}}
  {{- $bucket := dig "bucket" "" $results -}}
  {{- if not (or $bucket (dig "endpoint" "" $results)) -}}
    {{- fail "gateway.config: result_storage.bucket must name a bucket of your own: the one that is meant without it may be somebody else's" -}}
  {{- end -}}
  {{- range $name, $value := .Values.gateway.env -}}
    {{- if and (eq $value "") (eq $bucket (printf "${%s}" $name)) -}}
      {{- fail (printf "gateway.env.%s must name a bucket of your own for results" $name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{ .Values.gateway.config }}
{{- end -}}

{{- define "svc.agentConfig" -}}
{{- $config := include "svc.toml" (dict "root" . "text" .Values.agent.config) | fromJson -}}
{{- with $config.Error }}{{ fail (printf "agent.config is no TOML: %s" .) }}{{ end -}}
{{- include "svc.noSecrets" (dict "value" $config "key" "" "where" "agent") -}}
{{- if ne (dig "probes" "dir" "" $config) "/var/lib/svc-agent/probes" -}}
  {{- fail "agent.config: probes.dir must be \"/var/lib/svc-agent/probes\", where the probes look" -}}
{{- end -}}
{{- if and (gt (include "svc.maxAgents" . | int) 1) (not (contains "${SVC_AGENT_NAME}" (dig "server" "agent_token_file" "" $config))) -}}
  {{- fail "agent.config: server.agent_token_file must be \"/etc/svc-agent-tokens/${SVC_AGENT_NAME}\": each of several agents needs a token of its own" -}}
{{- end -}}
{{- $tasks := dig "max_concurrent_tasks" 8 $config | int -}}
{{- if and .Values.agent.autoscaling.enabled (gt (.Values.agent.autoscaling.jobsPerAgent | int) $tasks) -}}
  {{- fail (printf "agent.autoscaling.jobsPerAgent must be at most max_concurrent_tasks of agent.config (%d), or full agents get no help" $tasks) -}}
{{- end -}}
{{ .Values.agent.config }}
{{- end -}}

{{/*
The TOML `text` as JSON. Helm 3.17 is the first that reads TOML. An older one would refuse the whole file that names the function, so its name
stands in a text that is read after the version.
*/}}
{{- define "svc.toml" -}}
{{- $helm := .root.Capabilities.HelmVersion.Version -}}
{{- if semverCompare "<3.17.0-0" $helm -}}
  {{- fail (printf "this chart needs Helm 3.17 or newer, and this is %s" $helm) -}}
{{- end -}}
{{- tpl "{{ fromToml .text | toJson }}" (dict "text" .text) -}}
{{- end -}}

{{- define "svc.maxAgents" -}}
{{ ternary .Values.agent.autoscaling.maxReplicas .Values.agent.replicas .Values.agent.autoscaling.enabled | int }}
{{- end -}}

{{/* Fails at a value that belongs into a Secret: `key` is the dotted key, and `where` names the value of the chart. */}}
{{- define "svc.noSecrets" -}}
{{- $key := .key -}}
{{- $where := .where -}}
{{- if kindIs "map" .value -}}
  {{- range $name, $value := .value -}}
    {{- include "svc.noSecrets" (dict "value" $value "key" (printf "%s.%s" $key $name | trimPrefix ".") "where" $where) -}}
  {{- end -}}
{{- else if kindIs "slice" .value -}}
  {{- range .value -}}
    {{- include "svc.noSecrets" (dict "value" . "key" $key "where" $where) -}}
  {{- end -}}
{{- else if kindIs "string" .value -}}
  {{- $isSecret := has $key (list
    "temporal.api_key" "bootstrap.admin_token" "bootstrap.agent_token" "license.key" "audit.anchor_token"
    "result_storage.access_key_id" "result_storage.secret_access_key"
    "auth.oidc.client_secret" "slack.bot_token" "slack.signing_secret" "webhooks.secret" "server.agent_token") -}}
  {{- $isPlain := not (regexMatch "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" .value) -}}
  {{- $hasPassword := regexMatch "://[^/@]*:[^/@]+@|[?&](ssl)?password=" (regexReplaceAll ":\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}@" .value "@") -}}
  {{- $isToken := regexMatch "svc_[0-9a-f]{32}|xox[a-z]-|://hooks\\.slack\\.com/[^$]+$" .value -}}
  {{- if or (and $isSecret $isPlain) $hasPassword $isToken -}}
    {{- fail (printf "%s.config: %s has a secret in it: write ${NAME} in its place, and put NAME into the Secret that %s.secret names" $where $key $where) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* Where a server listens; its own default is its loopback interface. */}}
{{- define "svc.apiListen" -}}
{{ dig "server" "listen" "0.0.0.0:3000" (include "svc.toml" (dict "root" . "text" .Values.gateway.config) | fromJson) }}
{{- end -}}

{{/* Seconds until the kubelet kills. A server: 5 s before the signal, drain_secs, 5 s for calls in progress, and 10 to spare. */}}
{{- define "svc.apiGrace" -}}
{{ dig "server" "drain_secs" 20 (include "svc.toml" (dict "root" . "text" .Values.gateway.config) | fromJson) | int | add 20 }}
{{- end -}}

{{/* An agent: drain_timeout_secs, up to 10 s for cancels, and 10 to spare. */}}
{{- define "svc.agentGrace" -}}
{{ dig "drain_timeout_secs" 60 (include "svc.toml" (dict "root" . "text" .Values.agent.config) | fromJson) | int | add 20 }}
{{- end -}}
