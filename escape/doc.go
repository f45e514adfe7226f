// Package escape puts untrusted text into scripts that run in a cluster: one
// encoder for each place, and types that keep the places apart. Every byte
// string is carried exactly, or refused with an error that says where and what
// to do instead.
//
//	place                            function            carries           refuses
//	word of a command                Word                all but NUL       NUL
//	body of a here-document          Heredoc, Text       all but 2 bytes   NUL, 0x01; no newline at its end
//	value at run time, in a body     Live                what its Form is  (the script: anything else)
//	value at run time, in YAML       Variable.YAML       UTF-8             (the script: anything else)
//	value at run time, as a word     Variable.Word       all but NUL
//	body, quoted delimiter           HeredocQuoted       all but NUL       NUL; no newline at its end
//	container's command, args, env   Script.Kubelet,     UTF-8             NUL; over 131071 bytes
//	                                 KubeletArg
//	the same, through base64         KubeletBase64       all               over 131071 bytes
//	YAML scalar, one line            YAML                UTF-8             NUL
//	YAML literal block               YAMLBlock           printable UTF-8   controls, CR, U+2028, U+FEFF, …
//	text of a Helm template          Helm                all but these     NUL, <no value>
//	script in a Job in a chart       Script.HelmCommand  as Kubelet
//
// Start with [Program]: it makes a [Script] of pieces of type [Shell]. Only
// [Lit], of a constant, and the encoders make pieces, and [Join] strings them
// together. There is no way to call a variable trusted.
//
//	script = LC_ALL=C, set -eu, checks of live values, pieces
//	piece  = Lit(constant) | Word(s) | Variable.Word | Heredoc | HeredocQuoted | Assign | Join(piece…)
//	part   = Text(s) | Live(NAME, Form) | Variable.YAML       (the parts of a Heredoc)
//
// The layers decode from the outside: Helm, YAML, the kubelet, the shell, and
// often YAML again. The kubelet's is the one that is forgotten: it replaces
// $(NAME) by the environment's value before the shell runs, behind a backslash
// too. [Script.Kubelet] is for a script in a container's command; one in a mounted
// file ([Script.Bytes]) does not pass that layer and must not be encoded for it.
//
// Promised, and tested in dash 0.5.12, bash 5.2, busybox 1.35, mksh R59c, yash
// 2.52, zsh 5.9, posh 0.14.1 and ksh93u+m 1.0.4: what a script runs does not
// depend on an untrusted byte; a script does its whole work or stops with a
// status other than 0 and a message; no message holds a value; the same input
// gives the same bytes.
//
// Not promised: a command that evaluates its arguments (eval, sh -c, ssh, awk;
// [Word] lists the builtins) needs its own encoder. A pipe or a background job
// that a literal writes hides failures as it does in any script. yash needs a
// UTF-8 locale and valid UTF-8: see [Script].
//
// All encoders take time and room in proportion to their input. The AppendX
// functions encode without checking, and do not allocate when dst has room.
package escape
