{{/* Names and labels. */}}
{{- define "gavel.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{- define "gavel.labels" -}}
app.kubernetes.io/name: gavel
app.kubernetes.io/instance: {{ quote .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* Mistakes that would lose something end the rendering. */}}
{{- define "gavel.check" -}}
{{- if and (eq .Values.journal "embedded") (or (gt (int .Values.relay.replicas) 1) (gt (int .Values.rpc.replicas) 1) (gt (int .Values.stream.replicas) 1)) }}
{{- fail "journal: embedded has one instance of each service: set all replicas to 1, or keep the journal in a cluster" }}
{{- end }}
{{- if and (ne .Values.journal "embedded") (eq .Values.databases "embedded") }}
{{- fail "databases: embedded needs journal: embedded: a pod without a volume of its own would lose them" }}
{{- end }}
{{- if and .Values.stream.enabled (eq .Values.journal "embedded") (not .Values.rpc.enabled) }}
{{- fail "stream reads the journal of rpc: enable rpc, or keep the journal in a cluster" }}
{{- end }}
{{- end }}

{{/* The URL of the journal with the password of the environment, in every server's. */}}
{{- define "gavel.journal" -}}
{{- $urls := list }}
{{- range $n := until 3 }}
{{- $urls = append $urls (printf "nats://gavel:$(NATS_PASSWORD)@%s-nats-%d.%s-nats:4222" (include "gavel.name" $) $n (include "gavel.name" $)) }}
{{- end }}
{{- join "," $urls }}
{{- end }}

{{/* Where journal and database are, by the environment, since they have passwords. */}}
{{- define "gavel.env" -}}
{{- $prefix := printf "GAVEL_%s" (upper .part) }}
{{- $secret := .root.Values.existingSecret }}
{{- if eq .root.Values.journal "chart" }}
- {name: NATS_PASSWORD, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: nats-password}}}
- {name: {{ $prefix }}_JOURNAL, value: {{ include "gavel.journal" .root | quote }}}
{{- else if eq .root.Values.journal "external" }}
- {name: {{ $prefix }}_JOURNAL, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: journal-url}}}
{{- else if eq .part "stream" }}
- {name: {{ $prefix }}_JOURNAL, value: "nats://127.0.0.1:4222"}
{{- end }}
{{- if eq .root.Values.databases "chart" }}
- {name: POSTGRES_PASSWORD, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: postgres-password}}}
- {name: {{ $prefix }}_DB, value: "postgres://gavel:$(POSTGRES_PASSWORD)@{{ include "gavel.name" .root }}-postgres/{{ .part }}?sslmode=disable"}
{{- else if eq .root.Values.databases "external" }}
- {name: {{ $prefix }}_DB, valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ .part }}-db-url}}}
{{- end }}
{{- end }}

{{/* Flags of every service. */}}
{{- define "gavel.args" -}}
- --data-dir=/data/{{ .part }}
- --listen=:{{ .port }}
- --admin-listen=:{{ .admin }}
- --linger={{ .root.Values.linger }}
- --log-format=json
{{- if and (eq .root.Values.journal "chart") (ne .part "stream") }}
- --journal-replicas=3
{{- end }}
{{- with .root.Values.trustedProxies }}
- --trusted-proxies={{ join "," . }}
{{- end }}
{{- range (index .root.Values .part).extraArgs }}
- {{ quote . }}
{{- end }}
{{- end }}

{{/* A container of gavel: .part, its ports, .args, and .files, the keys of the Secret that it reads. */}}
{{- define "gavel.container" -}}
- name: {{ .part }}
  image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag }}"
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    - {{ .part }}
    {{- range .args }}
    - {{ quote . }}
    {{- end }}
    {{- include "gavel.args" . | nindent 4 }}
  {{- with include "gavel.env" . | trim }}
  env:
    {{- . | nindent 4 }}
  {{- end }}
  ports:
    - {name: {{ .part }}, containerPort: {{ .port }}}
    - {name: {{ .part }}-admin, containerPort: {{ .admin }}}
  # /livez is 200 also while it waits for what it needs; /readyz says what that is.
  livenessProbe: {httpGet: {path: /livez, port: {{ .admin }}}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
  readinessProbe: {httpGet: {path: /readyz, port: {{ .admin }}}, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2}
  resources: {{ toJson (index .root.Values .part).resources }}
  securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
  volumeMounts:
    - {name: data, mountPath: /data}
    - {name: tmp, mountPath: /tmp}
    {{- if .files }}
    - {name: keys, mountPath: /run/secrets, readOnly: true}
    {{- end }}
    {{- if eq .part "rpc" }}
    - {name: builders, mountPath: /etc/gavel, readOnly: true}
    {{- end }}
{{- end }}

{{- define "gavel.apart" -}}
{{- $term := dict "labelSelector" (dict "matchLabels" (include "gavel.labels" . | fromYaml)) "topologyKey" "kubernetes.io/hostname" }}
podAntiAffinity:
{{- if eq .root.Values.antiAffinity "required" }}
  requiredDuringSchedulingIgnoredDuringExecution: {{ list $term | toJson }}
{{- else }}
  preferredDuringSchedulingIgnoredDuringExecution: {{ list (dict "weight" 100 "podAffinityTerm" $term) | toJson }}
{{- end }}
{{- end }}

{{/* A claim for a volume of .storage. */}}
{{- define "gavel.claim" -}}
- metadata: {name: data}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .root.Values.storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    resources: {requests: {storage: {{ .storage }}}}
{{- end }}

{{/* A service of gavel whole: instances, addresses, and how many may be away. .with are the containers beside it. */}}
{{- define "gavel.service" -}}
{{- $name := printf "%s-%s" (include "gavel.name" .root) .part }}
{{- $own := index .root.Values .part }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels: {{ include "gavel.labels" . | fromYaml | toJson }}
spec:
  replicas: {{ $own.replicas }}
  serviceName: {{ $name }}-admin
  podManagementPolicy: Parallel
  selector: {matchLabels: {{ include "gavel.labels" . | fromYaml | toJson }}}
  template:
    metadata:
      labels: {{ include "gavel.labels" . | fromYaml | toJson }}
      {{- with get $own "builders" }}
      annotations: {gavel/builders: {{ toJson . | sha256sum | quote }}} # a change restarts it
      {{- end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false # its variables could be read as flags
      terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
      securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      affinity:
        {{- include "gavel.apart" . | trim | nindent 8 }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector: {{ toJson . }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations: {{ toJson . }}
      {{- end }}
      containers:
        {{- include "gavel.container" . | nindent 8 }}
        {{- with .beside }}
        {{- include "gavel.container" . | nindent 8 }}
        {{- end }}
      volumes:
        - {name: tmp, emptyDir: {}}
        {{- if ne .root.Values.journal "embedded" }}
        - {name: data, emptyDir: {}}
        {{- end }}
        {{- if .files }}
        - name: keys
          secret:
            secretName: {{ .root.Values.existingSecret }}
            defaultMode: 0440
            items:
              {{- range .files }}
              - {key: {{ . }}, path: {{ . }}}
              {{- end }}
        {{- end }}
        {{- if eq .part "rpc" }}
        - {name: builders, configMap: {name: {{ $name }}-builders}}
        {{- end }}
  {{- if eq .root.Values.journal "embedded" }}
  volumeClaimTemplates:
    {{- include "gavel.claim" (dict "root" .root "storage" $own.storage) | nindent 4 }}
  {{- end }}
---
{{ include "gavel.addresses" . | trim }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{ include "gavel.labels" . | fromYaml | toJson }}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {{ include "gavel.labels" . | fromYaml | toJson }}}
{{- end }}

{{/* Where a service is reached: by everybody, and by the operator. .on is the part in whose pods it runs. */}}
{{- define "gavel.addresses" -}}
{{- $name := printf "%s-%s" (include "gavel.name" .root) .part }}
{{- $pods := dict "root" .root "part" (default .part (get . "on")) }}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{ include "gavel.labels" . | fromYaml | toJson }}
  {{- with (index .root.Values .part).service.annotations }}
  annotations: {{ toJson . }}
  {{- end }}
spec:
  type: {{ (index .root.Values .part).service.type }}
  selector: {{ include "gavel.labels" $pods | fromYaml | toJson }}
  ports: [{name: http, port: {{ .port }}, targetPort: {{ .port }}}]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-admin
  labels: {{ merge (dict "gavel-job" (printf "gavel-%s" .part)) (include "gavel.labels" . | fromYaml) | toJson }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true # metrics of what is not ready are what one wants to see
  selector: {{ include "gavel.labels" $pods | fromYaml | toJson }}
  ports: [{name: admin, port: {{ .admin }}, targetPort: {{ .admin }}}]
{{- end }}
