package escape

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxArgument is the number of bytes that Linux lets one argument of a program
// have, or one NAME=value of its environment (MAX_ARG_STRLEN, less the NUL at
// its end).
const MaxArgument = 131071

// Kubelet is the script as one string of a container's command or args, in
// ["/bin/sh", "-c", it]. The kubelet replaces $(NAME) in these strings by
// values of the container's environment before any shell runs, and $$ by $;
// each $ is doubled here, so that the shell gets the script as it is.
//
// The zero Script, a script that is not valid UTF-8, which no Kubernetes string can hold, and
// one of more than [MaxArgument] bytes are errors. A script in a mounted file
// does not pass this layer: use [Script.Bytes] there.
func (s Script) Kubelet() (string, error) {
	var errs []*Error
	if s.text == "" {
		errs = append(errs, noScript())
	}
	if i := invalidUTF8(s.text); i >= 0 {
		errs = append(errs, &Error{Place: "kubelet", Offset: i, Reason: fmt.Sprintf("line %d is not valid UTF-8, and a Kubernetes string is", 1+strings.Count(s.text[:i], "\n")),
			Fix: "use KubeletBase64, or mount the script from a ConfigMap's binaryData"})
	}
	if len(s.text) > MaxArgument {
		errs = append(errs, tooLong(len(s.text)))
	}
	if len(errs) > 0 {
		return "", together(errs)
	}
	return string(AppendKubelet(make([]byte, 0, len(s.text)+strings.Count(s.text, "$")), s.text)), nil
}

// KubeletArg is s as one string of a container's command or args, or as the
// value of an environment variable: each $ is doubled. It carries every valid
// UTF-8 but NUL, up to [MaxArgument] bytes. Linux counts a variable's name and
// the = with its value: there, the value has as much less room, and KubeletArg,
// which does not know the name, does not look for that.
func KubeletArg(s string) (string, error) {
	var errs []*Error
	if i := strings.IndexByte(s, 0); i >= 0 {
		errs = append(errs, nul("kubelet", i))
	}
	if i := invalidUTF8(s); i >= 0 {
		errs = append(errs, &Error{Place: "kubelet", Offset: i, Reason: "not valid UTF-8, and a Kubernetes string is", Fix: "carry the data as base64"})
	}
	if len(s) > MaxArgument {
		errs = append(errs, tooLong(len(s)))
	}
	if len(errs) > 0 {
		return "", together(errs)
	}
	return string(AppendKubelet(make([]byte, 0, len(s)+strings.Count(s, "$")), s)), nil
}

// AppendKubelet appends s to dst with each $ doubled. It does not refuse what
// [KubeletArg] refuses.
func AppendKubelet(dst []byte, s string) []byte { return kubeletString.append(dst, s) }

// Every $, not only the one before a parenthesis: the kubelet reads $$ as $
// wherever it stands, and re-encodes a byte from 0x80 on behind a single $
// (Kubernetes 1.33).
var kubeletString = newPrefixing('$', "$")

// noScript is the error for the zero Script, which a Job would run with success.
func noScript() *Error {
	return &Error{Place: "kubelet", Offset: -1, Reason: "no script", Fix: "use what Program returns, and look at its error"}
}

func tooLong(n int) *Error {
	return &Error{Place: "kubelet", Offset: -1, Reason: fmt.Sprintf("%d bytes, and Linux takes at most %d in one argument", n, MaxArgument),
		Fix: "mount it as a file from a ConfigMap, or from a Secret when it holds one"}
}

// invalidUTF8 is the offset of the first byte that is no part of valid UTF-8,
// or -1.
func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n <= 1 {
				return i
			}
		}
	}
	return -1
}

// KubeletBase64 is the script as [Script.Kubelet] gives it, with base64 around
// it: for one that is not valid UTF-8. The container's image needs base64 -d
// (coreutils and busybox have it). The script fails loudly when that is missing
// or fails, and when not all of the script arrives. Base64 takes a third more
// room of the [MaxArgument] bytes.
func (s Script) KubeletBase64() (string, error) {
	if s.text == "" {
		return "", noScript()
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(s.text + endMark))
	wrapper := `LC_ALL=C
export LC_ALL
set -eu
if ! mirrorpatch_script=$(printf %s '` + encoded + `' | base64 -d); then
printf '%s\n' 'base64 -d failed, which this script comes through: is base64 in the image?' >&2
exit 1
fi
case $mirrorpatch_script in
*'` + endMark + `') ;;
*)
printf '%s\n' 'base64 -d gave only a part of this script' >&2
exit 1
;;
esac
eval "$mirrorpatch_script"
`
	return Script{wrapper}.Kubelet()
}

// endMark ends the encoded script. A pipe hides it when its left side fails;
// a missing mark does not.
const endMark = "#mirrorpatch: end of script"
