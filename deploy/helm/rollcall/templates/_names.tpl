{{- define "rollcall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The release's name, and the chart's where the release's does not contain it. */ -}}
{{- define "rollcall.fullname" -}}
{{- $name := include "rollcall.name" . }}
{{- $both := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $both .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollcall.secret" -}}
{{- default (include "rollcall.fullname" .) .Values.secrets.existingSecret }}
{{- end }}

{{- define "rollcall.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}

{{- define "rollcall.selector" -}}
app.kubernetes.io/name: {{ include "rollcall.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "rollcall.labels" -}}
{{ include "rollcall.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
