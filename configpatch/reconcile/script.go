package reconcile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// Script returns the script that waits for t's inputs, checks them and applies
// the TalosConfigTemplate with kubectl. It is for a POSIX shell with kubectl on
// PATH, and sleep; for an input that is decoded sed, base64 and tr too. A template of 65536 bytes
// and more, and every one in a shell that keeps here-documents in files, needs a writable /tmp.
//
// It exits with 1 when an input is missing or does not fit, and with kubectl's code
// when kubectl apply fails; in both cases nothing was applied, but a template of more
// than 192 KiB whose second kubectl apply fails, which a later run makes good. Progress is told on
// standard error, what kubectl says of the template on standard output. The
// error is an [*Error] for each problem that was found, joined.
//
// kubectl apply keeps a copy of an object in an annotation, which holds 262144
// bytes of all annotations together. The script applies a template of more than
// 192 KiB on the server, its annotations counted twice, which needs create and
// patch alone, and keeps the names of its fields in that annotation, so that a
// smaller one later leaves nothing of it behind.
func Script(t Template) (escape.Script, error) {
	if _, p := t.check(); p != nil {
		return escape.Script{}, errors.Join(p...)
	}
	return t.script()
}

// get prints what kubectl finds, once it is there. kubectl 1.32 prints
// nothing and exits with 0 for a JSONPath that leads nowhere, so nothing is
// "not there yet". The x keeps final newlines, which $( ) drops. What the shell
// calls here happens in $( ), where some shells do not keep set -e: each command
// that can fail is asked.
const get = `
reconcile_get() {
  reconcile_what=$1
  shift
  reconcile_try=1
  while :; do
    if reconcile_value=$(kubectl get "$@" && printf x) && [ "$reconcile_value" != x ]; then
      printf '%s' "${reconcile_value%x}" || return 1
      return 0
    fi
    if [ "$reconcile_try" -ge "$reconcile_tries" ]; then
      printf 'mirrorpatch: %s is empty or not there after %s tries\n' "$reconcile_what" "$reconcile_try" >&2
      return 1
    fi
    printf 'mirrorpatch: waiting for %s (try %s of %s)\n' "$reconcile_what" "$reconcile_try" "$reconcile_tries" >&2
    reconcile_try=$((reconcile_try + 1))
    sleep "$reconcile_interval"
  done
}
`

// decode prints the text behind the base64 that get finds. Whether all of it came through is
// seen by encoding it again: $( ) drops NUL bytes, but in zsh.
const decode = `
reconcile_decode() {
  reconcile_what=$1
  reconcile_stored=$(reconcile_get "$@") || return 1
  if reconcile_text=$(printf '%s' "$reconcile_stored" | base64 -d && printf x); then
    reconcile_text=${reconcile_text%x}
    reconcile_again=$(printf '%s' "$reconcile_text" | tr -d '\000' | base64 | tr -d '\n')
    if [ "$reconcile_again" = "$reconcile_stored" ]; then
      printf '%s' "$reconcile_text" || return 1
      return 0
    fi
  fi
  printf 'mirrorpatch: %s is not the base64 of text without NUL bytes\n' "$reconcile_what" >&2
  return 1
}
`

// script puts the script of a Template together that was checked.
func (t Template) script() (escape.Script, error) {
	var parts []escape.Shell
	var p problems
	read, decoded := false, false
	var assigns []escape.Shell
	for _, in := range t.Inputs {
		cmd, ok := t.read(in)
		if !ok {
			continue
		}
		read = true
		if f, ok := in.From.(FromSecret); ok && f.Decode {
			decoded = true
		}
		assigns = append(assigns, escape.Assign(escape.Live(in.Name, in.form()), cmd))
	}
	if read {
		parts = append(parts,
			escape.Lit("reconcile_tries="), escape.Word(strconv.Itoa(t.tries())),
			escape.Lit("\nreconcile_interval="), escape.Word(seconds(t.interval())),
			escape.Lit("\n"), escape.Lit(get))
	}
	if decoded {
		parts = append(parts, escape.Lit(decode))
	}
	parts = append(parts, assigns...)
	apply, err := t.apply()
	if err != nil {
		p = append(p, err)
	} else {
		script, err := escape.Program(append(parts, apply)...)
		if err == nil {
			return script, nil
		}
		p = append(p, &Error{Path: "script", Err: err})
	}
	return escape.Script{}, errors.Join(p...)
}

// read returns the command that prints an input's value; ok is false when the environment has it.
func (t Template) read(in Input) (cmd escape.Shell, ok bool) {
	verb := escape.Lit("reconcile_get ")
	var resource, namespace, name, path, what string
	switch f := in.From.(type) {
	case FromSecret:
		if f.Decode {
			verb = escape.Lit("reconcile_decode ")
		}
		resource, name, path = "secret", f.Name, "{.data."+escapeDots(f.Key)+"}"
		namespace = cmp.Or(f.Namespace, t.Namespace)
		what = fmt.Sprintf("%s: key %s of secret %s/%s", in.Name, f.Key, namespace, f.Name)
	case FromJSONPath:
		group, plural := f.resource()
		resource, name, path = plural, f.Name, f.JSONPath
		if group != "" {
			resource += "." + group
		}
		namespace = cmp.Or(f.Namespace, t.Namespace)
		what = fmt.Sprintf("%s: %s of %s %s/%s", in.Name, path, resource, namespace, f.Name)
	default:
		return escape.Shell{}, false
	}
	space := escape.Lit(" ")
	return escape.Join(verb, escape.Word(what), space,
		escape.Word(resource), space, escape.Word(name),
		escape.Lit(" -n "), escape.Word(namespace),
		escape.Lit(" -o "), escape.Word("jsonpath="+path),
		escape.Lit(" --request-timeout="), escape.Word(seconds(requestTimeout)+"s")), true
}

// apply returns the command that applies the template, from a here-document.
func (t Template) apply() (escape.Shell, error) {
	cmd := escape.Lit("kubectl apply -n ")
	if t.serverSide() {
		// For the manager kubectl, the default, the API server (1.36) writes lastAppliedKey itself, or drops it.
		cmd = escape.Lit("kubectl apply --server-side --force-conflicts --field-manager=mirrorpatch -n ")
	}
	cmd = escape.Join(cmd, escape.Word(t.Namespace), escape.Lit(" -f -"))
	body, text, err := t.body()
	if err != nil {
		return escape.Shell{}, err
	}
	var doc escape.Shell
	if body == nil {
		// Nothing in it is live: it stands in the script as a person would write it.
		doc, err = escape.HeredocQuoted(cmd, text)
	} else {
		doc, err = escape.Heredoc(cmd, body...)
	}
	if err == nil && t.serverSide() {
		// Not in one with the template: by that annotation kubectl (1.36) knows what it
		// applied on the client before, and gives up the fields that are gone.
		last, _ := t.lastApplied()
		var names escape.Shell
		names, err = escape.HeredocQuoted(escape.Join(
			escape.Lit("kubectl apply --server-side --force-conflicts --field-manager=mirrorpatch-last-applied -n "),
			escape.Word(t.Namespace), escape.Lit(" -f - >/dev/null"),
		), strings.TrimPrefix(document(last), "---\n"))
		doc = escape.Join(doc, names)
	}
	if err != nil {
		return escape.Shell{}, &Error{Path: "template", Err: err}
	}
	return doc, nil
}

// clientSideLimit is the size of a template, as JSON and without the values of its inputs, up
// to which kubectl applies it on the client. There kubectl keeps a copy of
// the whole in one more annotation.
const clientSideLimit = maxAnnotations - 64<<10

func (t Template) serverSide() bool {
	text, err := json.Marshal(struct {
		Labels, Annotations map[string]string
		Patches             []string
		Skeleton            string
	}{t.Labels, t.Annotations, t.patches(), t.Skeleton})
	return err != nil || len(text)+annotationsSize(t.Annotations) > clientSideLimit
}

// verbs are those that kubectl apply needs on an object by its name; create comes beside them.
func (t Template) verbs() []string {
	if t.serverSide() {
		return []string{"patch"}
	}
	return []string{"get", "patch"}
}
