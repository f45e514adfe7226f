{{/*
mirrorpatch.heredoc prints COMMAND with a here-document as its standard input.
It begins in column 0 of the script and ends with a newline.

  {{ include "mirrorpatch.heredoc" (dict "command" "kubectl apply -f -" "text" $manifest) }}
  {{ include "mirrorpatch.heredoc" (dict "command" "kubectl apply -f -" "parts" (list
       (dict "text" "server: https://") (dict "live" "SERVICE_IP") (dict "text" ":6443\n"))) }}

Every byte of a text stays itself. The script needs LC_ALL=C, export LC_ALL and
set -eu before it, and checks what a live variable may be.
*/}}
{{- define "mirrorpatch.heredoc" -}}
{{- if not (kindIs "map" .) -}}{{- fail "mirrorpatch.heredoc: give a dict" -}}{{- end -}}
{{- range $key := keys . -}}
{{- if not (has $key (list "command" "text" "parts")) -}}{{- fail (printf "mirrorpatch.heredoc: unknown key %q: want command, and text or parts" $key) -}}{{- end -}}
{{- end -}}
{{- if not (kindIs "string" .command) -}}{{- fail "mirrorpatch.heredoc: command is missing or no string" -}}{{- end -}}
{{- if or (eq (trim .command) "") (hasSuffix "\n" .command) (contains "<<" .command) (contains "\x00" .command) (contains "<no value>" .command) -}}
{{- fail "mirrorpatch.heredoc: command is empty, ends in a newline, or holds <<, NUL or <no value>" -}}
{{- end -}}
{{- if or (regexMatch "[;&|({<>\\\\\\n][ \\t\\r\\n]*\\z" .command) (regexMatch "(^|[ \\t\\n;&|()])(if|then|elif|else|while|until|do|!)[ \\t]*\\z" .command) -}}
{{- fail "mirrorpatch.heredoc: command ends before the command that reads the here-document" -}}
{{- end -}}
{{- if regexMatch "(^|[ \\t\\n;&|()<>])#[^\\n]*\\z" .command -}}{{- fail "mirrorpatch.heredoc: command has a # that may begin a comment, in which the here-document would be" -}}{{- end -}}
{{- if eq (hasKey . "text") (hasKey . "parts") -}}{{- fail "mirrorpatch.heredoc: give either text or parts" -}}{{- end -}}
{{- $parts := list -}}
{{- if hasKey . "text" -}}{{- $parts = list (dict "text" .text) -}}{{- else -}}{{- $parts = .parts -}}{{- end -}}
{{- if not (kindIs "slice" $parts) -}}{{- fail "mirrorpatch.heredoc: parts is no list" -}}{{- end -}}
{{- if not $parts -}}{{- fail "mirrorpatch.heredoc: parts is empty: write \"text\" \"\" for an empty body" -}}{{- end -}}
{{- $body := "" -}}
{{- range $part := $parts -}}
{{- if not (kindIs "map" $part) -}}{{- fail "mirrorpatch.heredoc: a part is no dict" -}}{{- end -}}
{{- if or (ne (len $part) 1) (eq (hasKey $part "live") (hasKey $part "text")) -}}{{- fail "mirrorpatch.heredoc: a part has either text or live, and nothing else" -}}{{- end -}}
{{- if hasKey $part "live" -}}
{{- if not (and (kindIs "string" $part.live) (regexMatch "^[A-Za-z_][A-Za-z0-9_]*\\z" $part.live)) -}}{{- fail "mirrorpatch.heredoc: live is no variable's name" -}}{{- end -}}
{{- if regexMatch "RESERVED" $part.live -}}{{- fail (printf "mirrorpatch.heredoc: live is %s, to which shells or programs give a meaning of their own" $part.live) -}}{{- end -}}
{{- $body = printf "%s${%s}" $body $part.live -}}
{{- else -}}
{{- if not (kindIs "string" $part.text) -}}{{- fail "mirrorpatch.heredoc: a text is missing or no string" -}}{{- end -}}
{{- if contains "\x00" $part.text -}}{{- fail "mirrorpatch.heredoc: a text holds NUL, which no script can hold" -}}{{- end -}}
{{- if contains "\x01" $part.text -}}{{- fail "mirrorpatch.heredoc: a text holds byte 0x01, which bash 4.4 drops together with the escape behind it" -}}{{- end -}}
{{- $body = printf "%s%s" $body ($part.text | replace "\\" "\\\\" | replace "$" "\\$" | replace "`" "\\`") -}}
{{- end -}}
{{- end -}}
{{- if and $body (not (hasSuffix "\n" $body)) -}}{{- fail "mirrorpatch.heredoc: the body does not end in a newline, which no here-document can express" -}}{{- end -}}
{{- if contains "<no value>" $body -}}{{- fail "mirrorpatch.heredoc: the body holds <no value>, which Helm deletes from what it has rendered" -}}{{- end -}}
{{- $delimiter := "" -}}
{{- range $initial := splitList "" "EABCDFGHIJKLMNOPQRSTUVWXYZ" -}}
{{- if and (not $delimiter) (not (regexMatch (printf "(?m)^\t*%s" $initial) $body)) -}}{{- $delimiter = printf "%sOF" $initial -}}{{- end -}}
{{- end -}}
{{- if not $delimiter -}}{{- fail "mirrorpatch.heredoc: every letter from A to Z begins a line of the body: no delimiter is safe" -}}{{- end -}}
{{- printf "%s <<%s\n%s%s\n" .command $delimiter $body $delimiter -}}
{{- end -}}

{{/*
mirrorpatch.command prints a finished script as one YAML scalar for a
container's command or args. Each $ is doubled for the kubelet, which replaces
$(NAME) before the shell runs.

  command: ["/bin/sh", "-c", {{ include "mirrorpatch.command" $script }}]
*/}}
{{- define "mirrorpatch.command" -}}
{{- if not (kindIs "string" .) -}}{{- fail "mirrorpatch.command: the script is no string" -}}{{- end -}}
{{- if eq (trim .) "" -}}{{- fail "mirrorpatch.command: the script is empty" -}}{{- end -}}
{{- if contains "\x00" . -}}{{- fail "mirrorpatch.command: the script holds NUL" -}}{{- end -}}
{{- if regexMatch "\\x{FFFD}" (replace "\uFFFD" "x" .) -}}{{- fail "mirrorpatch.command: the script is not valid UTF-8, and a Kubernetes string is" -}}{{- end -}}
{{- if gt (len .) 131071 -}}{{- fail (printf "mirrorpatch.command: %d bytes, and Linux takes at most 131071 in one argument: mount the script from a ConfigMap" (len .)) -}}{{- end -}}
{{- $scalar := toJson (replace "$" "$$" .) -}}
{{- range $rune := concat (list 127) (untilStep 128 160 1) (list 65279 65534 65535) -}}
{{- $scalar = replace (printf "%c" $rune) (printf "\\u%04x" $rune) $scalar -}}
{{- end -}}
{{- $scalar -}}
{{- end -}}
