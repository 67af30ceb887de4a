{{- define "oncall.name" -}}
{{- printf "%s-%s" .root.Release.Name .part | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "oncall.selector" -}}
app.kubernetes.io/name: oncall-copilot
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "oncall.labels" -}}
{{ include "oncall.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end -}}

{{- define "oncall.image" -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end -}}

{{- /* Changes with what a process reads of the Secret at its start. Helm sees no cluster when it only
renders: `secretRevision` counts then. */ -}}
{{- define "oncall.secretChecksum" -}}
{{- $root := .root -}}
{{- $secret := lookup "v1" "Secret" $root.Release.Namespace $root.Values.existingSecret -}}
{{- $content := list $root.Values.secretRevision -}}
{{- range append .keys $root.Values.googleKey -}}
{{- $content = append $content (dig "data" . "" $secret) -}}
{{- end -}}
{{- $content | toJson | sha256sum -}}
{{- end -}}

{{- /* One process of the product. root: the chart; part: bot, jobs or api; values: of the part;
args: of `oncall`; port: of /healthz, /readyz and /metrics; keys: of the Secret. */ -}}
{{- define "oncall.deployment" -}}
{{- $part := . -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "oncall.name" . }}
  labels:
    {{- include "oncall.labels" . | nindent 4 }}
spec:
  {{- if not .scaled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  # A new one is ready before an old one ends: both read and write the same tables.
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  progressDeadlineSeconds: {{ .root.Values.progressDeadlineSeconds }}
  selector:
    matchLabels:
      {{- include "oncall.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "oncall.labels" . | nindent 8 }}
        {{- with .root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        checksum/secret: {{ include "oncall.secretChecksum" . }}
        # Domain files, golden files and rotas are read again while a process runs.
        checksum/config: {{ .root.Values.caBundle | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- with .root.Values.serviceAccount }}
      serviceAccountName: {{ . | quote }}
      {{- end }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      # What was begun is finished first: 25 seconds, and what stopping takes.
      terminationGracePeriodSeconds: 45
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: {type: RuntimeDefault}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . | quote }}
        {{- end }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- with .values.topologySpreadConstraints }}
        {{- toYaml . | nindent 8 }}
        {{- else }}
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "oncall.selector" $part | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .part }}
          image: {{ include "oncall.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          env:
            {{- $env := dict }}
            {{- range .keys }}
            {{- $_ := set $env (printf "%s_FILE" .) (printf "/run/secrets/oncall/%s" .) }}
            {{- end }}
            {{- with .root.Values.googleKey }}
            {{- $_ := set $env "GOOGLE_APPLICATION_CREDENTIALS" (printf "/run/secrets/oncall/%s" .) }}
            {{- end }}
            {{- if .root.Values.caBundle }}
            # Of OpenSSL and httpx, of requests, of Google's client, of S3's.
            {{- range list "SSL_CERT_FILE" "REQUESTS_CA_BUNDLE" "HTTPLIB2_CA_CERTS" "AWS_CA_BUNDLE" }}
            {{- $_ := set $env . "/run/ca/ca.pem" }}
            {{- end }}
            {{- end }}
            {{- range $name, $value := mergeOverwrite $env (.root.Values.settings | default dict) }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          {{- with .root.Values.envFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - name: http
              containerPort: {{ .port }}
          # Alive is asked for ten minutes before it counts: a large index is opened meanwhile.
          startupProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 5
            failureThreshold: 120
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: config, mountPath: /config, readOnly: true}
            - {name: secrets, mountPath: /run/secrets/oncall, readOnly: true}
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
            {{- if .root.Values.caBundle }}
            - {name: ca, mountPath: /run/ca, readOnly: true}
            {{- end }}
            {{- with .root.Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          projected:
            # Others may not write api_tokens.yaml, or it is refused.
            defaultMode: 0440
            sources:
              {{- range $folder := list "domains" "golden" "rotas" }}
              {{- with index $part.root.Values $folder }}
              - configMap:
                  name: {{ printf "%s-%s" $part.root.Release.Name $folder }}
                  items:
                    {{- range $name, $text := . }}
                    - {key: {{ $name | quote }}, path: {{ printf "%s/%s" $folder $name | quote }}}
                    {{- end }}
              {{- end }}
              {{- end }}
              {{- if and (eq .part "api") .root.Values.tokensKey }}
              - secret:
                  name: {{ .root.Values.existingSecret | quote }}
                  items:
                    - {key: {{ .root.Values.tokensKey | quote }}, path: api_tokens.yaml}
              {{- end }}
        - name: secrets
          secret:
            secretName: {{ .root.Values.existingSecret | quote }}
            defaultMode: 0440
            items:
              {{- range .keys }}
              - {key: {{ . }}, path: {{ . }}}
              {{- end }}
              {{- with .root.Values.googleKey }}
              - {key: {{ . | quote }}, path: {{ . | quote }}}
              {{- end }}
        - name: data
          emptyDir:
            sizeLimit: {{ .values.dataSize }}
        - name: tmp
          emptyDir:
            sizeLimit: 1Gi
        {{- if .root.Values.caBundle }}
        - name: ca
          configMap:
            name: {{ printf "%s-ca" .root.Release.Name }}
        {{- end }}
        {{- with .root.Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{- define "oncall.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "oncall.name" . }}
  labels:
    {{- include "oncall.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "oncall.selector" . | nindent 4 }}
  ports:
    - {name: http, port: {{ .port }}, targetPort: http}
{{- end -}}

{{- define "oncall.disruption" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "oncall.name" . }}
  labels:
    {{- include "oncall.labels" . | nindent 4 }}
spec:
  # Never blocks a drain, and never takes two at once.
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "oncall.selector" . | nindent 6 }}
{{- end -}}
