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

{{- /* One process of the product. root: the chart; part: bot, jobs or api; values: of the part;
args: of `oncall`; port: of /healthz, /readyz and /metrics; keys: of the Secret. */ -}}
{{- define "oncall.deployment" -}}
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
  # What answers on a large index builds its folder first.
  progressDeadlineSeconds: 3600
  selector:
    matchLabels:
      {{- include "oncall.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "oncall.labels" . | nindent 8 }}
    spec:
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
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "oncall.selector" . | nindent 14 }}
      containers:
        - name: {{ .part }}
          image: {{ include "oncall.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          env:
            {{- range .keys }}
            - name: {{ printf "%s_FILE" . }}
              value: {{ printf "/run/secrets/oncall/%s" . }}
            {{- end }}
            {{- with .root.Values.googleKey }}
            - name: GOOGLE_APPLICATION_CREDENTIALS
              value: {{ printf "/run/secrets/oncall/%s" . | quote }}
            {{- end }}
            {{- range $name, $value := .root.Values.settings }}
            - name: {{ $name }}
              value: {{ $value | quote }}
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
      volumes:
        - name: config
          projected:
            # Others may not write api_tokens.yaml, or it is refused.
            defaultMode: 0440
            sources:
              - configMap:
                  name: {{ printf "%s-domains" .root.Release.Name }}
                  items:
                    {{- range $name, $text := .root.Values.domains }}
                    - {key: {{ $name | quote }}, path: {{ printf "domains/%s" $name | quote }}}
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
