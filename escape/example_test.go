package escape_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// A manifest is applied from a here-document. What the script runs is fixed;
// the note is data, and so is the address, which the environment gives.
func Example() {
	namespace := "tenant'a"
	note := "$(BOOTSTRAP_TOKEN) `id` ${HOME}\nEOF"

	scalar, err := escape.YAML(note)
	if err != nil {
		fmt.Println(err)
		return
	}
	apply, err := escape.Heredoc(
		escape.Join(escape.Lit("printf '%s\\n' "), escape.Word(namespace), escape.Lit("\ncat")),
		escape.Text("endpoint: https://"), escape.Live("SERVICE_IP", escape.Address),
		escape.Text(":6443\nnote: "+scalar+"\nraw: |\n  $X `id`\n"),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := escape.Program(apply)
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := exec.Command("/bin/sh", "-c", script.String())
	cmd.Env = append(os.Environ(), "SERVICE_IP=192.0.2.1")
	out, err := cmd.CombinedOutput()
	fmt.Print(string(out), err, "\n")

	cmd = exec.Command("/bin/sh", "-c", script.String())
	cmd.Env = append(os.Environ(), "SERVICE_IP=192.0.2.1\n  evil: true")
	out, err = cmd.CombinedOutput()
	fmt.Print(string(out), err, "\n")
	// Output:
	// tenant'a
	// endpoint: https://192.0.2.1:6443
	// note: "$(BOOTSTRAP_TOKEN) `id` ${HOME}\nEOF"
	// raw: |
	//   $X `id`
	// <nil>
	// SERVICE_IP: not set, empty or not of its form: want an IPv4 or IPv6 address
	// exit status 1
}

func ExampleWord() {
	cmd := escape.Join(escape.Lit("grep -F -- "), escape.Word("it's $5"), escape.Lit(" /etc/motd\n"))
	script, err := escape.Program(cmd)
	fmt.Print(script.String(), err)
	// Output:
	// LC_ALL=C
	// export LC_ALL
	// set -eu
	// grep -F -- 'it'\''s $5' /etc/motd
	// <nil>
}

func ExampleHeredocQuoted() {
	doc, err := escape.HeredocQuoted(escape.Lit("cat >/tmp/config"), "EOF\n$HOME\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := escape.Program(doc)
	fmt.Print(script.String(), err)
	// Output:
	// LC_ALL=C
	// export LC_ALL
	// set -eu
	// cat >/tmp/config <<'AEOF'
	// EOF
	// $HOME
	// AEOF
	// <nil>
}

// A value that a command prints is checked where it is assigned.
func ExampleAssign() {
	port := escape.Live("API_PORT", escape.Port)
	doc, err := escape.Heredoc(escape.Lit("cat"), escape.Text("port: "), port, escape.Text("\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := escape.Program(escape.Assign(port, escape.Lit("echo 6443")), doc)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := exec.Command("/bin/sh", "-c", script.String()).CombinedOutput()
	fmt.Print(string(out), err)
	// Output:
	// port: 6443
	// <nil>
}

func ExampleProgram_errors() {
	_, err := escape.Program(
		escape.Lit("echo '"),
		escape.Word("a\x00b"),
		escape.Live("PATH", escape.Address).Word(),
	)
	fmt.Println(err)
	// Output:
	// parts[0]: literal: byte 5: a single quote is left open (close it; untrusted text goes through Word)
	// parts[1]: word: byte 1: byte 0x00 cannot stand in a shell script (remove it, or carry the data as base64)
	// parts[2]: live "PATH": a name that shells or programs give a meaning of their own (choose a longer one, such as APP_PATH)
}

func ExampleKubeletArg() {
	arg, err := escape.KubeletArg("--note=$(TOKEN) costs $5")
	fmt.Println(arg, err)
	// Output: --note=$$(TOKEN) costs $$5 <nil>
}

func ExampleScript_HelmCommand() {
	script, err := escape.Program(escape.Join(escape.Lit("echo "), escape.Word("{{ .Values.x }} $(TOKEN)"), escape.Lit("\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	scalar, err := script.HelmCommand()
	fmt.Println("command: [/bin/sh, -c, "+scalar+"]", err)
	// Output: command: [/bin/sh, -c, "LC_ALL=C\nexport LC_ALL\nset -eu\necho '\x7b\x7b .Values.x }} $$(TOKEN)'\n"] <nil>
}

func ExampleYAML() {
	scalar, err := escape.YAML("- \"a\"\n\té\u0085")
	fmt.Println(scalar, err)
	// Output: "- \"a\"\n\t\u00e9\u0085" <nil>
}

func ExampleYAMLBlock() {
	block, err := escape.YAMLBlock("  #!/bin/sh\necho hi\n", 2)
	fmt.Print("data:\n  script: "+block, err)
	// Output:
	// data:
	//   script: |2
	//       #!/bin/sh
	//     echo hi
	// <nil>
}

func ExampleHelm() {
	fmt.Println(escape.Helm("{{ .Values.x }} {"))
	// Output: {{"{"}}{{"{"}} .Values.x }} {{"{"}} <nil>
}

func ExampleSkeleton() {
	parts, err := escape.Skeleton("server: https://${API_IP}\nnote: ${NOT_DECLARED}\n", map[string]escape.Form{"API_IP": escape.Address})
	if err != nil {
		fmt.Println(err)
		return
	}
	doc, err := escape.Heredoc(escape.Lit("cat"), parts...)
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := escape.Program(doc)
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := exec.Command("/bin/sh", "-c", script.String())
	cmd.Env = append(os.Environ(), "API_IP=fd00::1")
	out, err := cmd.CombinedOutput()
	fmt.Print(string(out), err)
	// Output:
	// server: https://fd00::1
	// note: ${NOT_DECLARED}
	// <nil>
}

// run runs a script in /bin/sh, with NAME=value in the environment, and prints what it printed.
func run(script escape.Script, environment ...string) {
	cmd := exec.Command("/bin/sh", "-c", script.String())
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.CombinedOutput()
	fmt.Print(string(out))
	if err != nil {
		fmt.Println(err)
	}
}

// A literal is a constant: a variable does not compile. It has to be closed, so
// that it means the same whatever stands behind it.
func ExampleLit() {
	_, err := escape.Program(escape.Lit("kubectl get \"$1"))
	fmt.Println(err)
	_, err = escape.Program(escape.Lit("echo ${NOTE@P}\n")) // bash runs what is in NOTE
	fmt.Println(err)
	// Output:
	// parts[0]: literal: byte 12: a double quote is left open (close it; untrusted text goes through Word, a variable's value through Variable.Word)
	// parts[0]: literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)
}

// The body is literal text and live values; what cannot be a here-document is an error.
func ExampleHeredoc() {
	image := "registry.example.com/app:${TAG}"
	doc, err := escape.Heredoc(escape.Lit("kubectl apply -f -"), escape.Text("image: \""+image+"\"\nhost: "), escape.Live("APP_HOST", escape.DNSName), escape.Text("\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := escape.Program(doc)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, body, _ := strings.Cut(script.String(), "kubectl")
	fmt.Print("kubectl", body)

	_, err = escape.Heredoc(escape.Lit("cat"), escape.Text("no newline at the end"))
	fmt.Println(err)
	// Output:
	// kubectl apply -f - <<EOF
	// image: "registry.example.com/app:\${TAG}"
	// host: ${APP_HOST}
	// EOF
	// body: heredoc: the body does not end in a newline, which no here-document can express (end it with Text("\n"), or give the bytes to printf %s as a Word)
}

// The script checks a live value before the first command, and never shows it.
func ExampleLive() {
	host := escape.Live("API_HOST", escape.URLHost)
	script, err := escape.Program(escape.Join(escape.Lit("echo https://"), host.Word(), escape.Lit(":6443\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	run(script, "API_HOST=[fd00::10]")
	run(script, "API_HOST=fd00::10")
	// Output:
	// https://[fd00::10]:6443
	// API_HOST: not set, empty or not of its form: want the host of a URL: a DNS name, an IPv4 address, or an IPv6 address in brackets
	// exit status 1
}

// A form of one's own, for values that no other form describes.
func ExampleChars() {
	schematic := escape.Live("SCHEMATIC", escape.Chars("0123456789abcdef"))
	script, err := escape.Program(escape.Join(escape.Lit("echo factory.talos.dev/installer/"), schematic.Word(), escape.Lit(":v1.13.0\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	run(script, "SCHEMATIC=376567988ad370138ad8b2698212367b")
	run(script, "SCHEMATIC=../376567988ad370138ad8b2698212367b")
	// Output:
	// factory.talos.dev/installer/376567988ad370138ad8b2698212367b:v1.13.0
	// SCHEMATIC: not set, empty or not of its form: want one or more of the characters 0123456789abcdef
	// exit status 1
}

// A value of any text, as one word of a command.
func ExampleVariable_Word() {
	note := escape.Live("APP_NOTE", escape.Any)
	script, err := escape.Program(escape.Join(escape.Lit("printf '<%s>\\n' "), note.Word(), escape.Lit("\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	run(script, "APP_NOTE=$(id) * ${HOME}")
	// Output:
	// <$(id) * ${HOME}>
}

// A value of any text in YAML: the script writes the scalar.
func ExampleVariable_YAML() {
	note := escape.Live("APP_NOTE", escape.Any)
	doc, err := escape.Heredoc(escape.Lit("cat"), escape.Text("note: "), note.YAML(), escape.Text("\nadmin: false\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	script, err := escape.Program(doc)
	if err != nil {
		fmt.Println(err)
		return
	}
	run(script, "APP_NOTE=hello\"\nadmin: true")
	// Output:
	// note: "hello\"\nadmin: true"
	// admin: false
}

// The kubelet would replace $(TOKEN) by the container's variable before the shell runs.
func ExampleScript_Kubelet() {
	script, err := escape.Program(escape.Join(escape.Lit("echo "), escape.Word("$(TOKEN)"), escape.Lit("\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	arg, err := script.Kubelet() // command: ["/bin/sh", "-c", arg]
	fmt.Print(arg, err)
	// Output:
	// LC_ALL=C
	// export LC_ALL
	// set -eu
	// echo '$$(TOKEN)'
	// <nil>
}

// No Kubernetes string can hold bytes that are not UTF-8: base64 can.
func ExampleScript_KubeletBase64() {
	script, err := escape.Program(escape.Join(escape.Lit("printf %s "), escape.Word("caf\xe9"), escape.Lit(" | od -An -tx1\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = script.Kubelet()
	fmt.Println(err)
	arg, err := script.KubeletBase64()
	if err != nil {
		fmt.Println(err)
		return
	}
	arg = strings.ReplaceAll(arg, "$$", "$") // as the kubelet does
	out, err := exec.Command("/bin/sh", "-c", arg).CombinedOutput()
	fmt.Print(string(out), err)
	// Output:
	// kubelet: byte 45: line 4 is not valid UTF-8, and a Kubernetes string is (use KubeletBase64, or mount the script from a ConfigMap's binaryData)
	//  63 61 66 e9
	// <nil>
}

// For a chart: write the definitions to templates/_helpers.tpl, and include them.
func ExampleHelmHelper() {
	for line := range strings.Lines(escape.HelmHelper()) {
		if strings.Contains(line, "define") {
			fmt.Print(line)
		}
	}
	// Output:
	// {{- define "mirrorpatch.heredoc" -}}
	// {{- define "mirrorpatch.command" -}}
}

// Many words without an allocation for each. NUL is not looked for here.
func ExampleAppendWord() {
	buf := make([]byte, 0, 64)
	for _, arg := range []string{"ls", "--", "it's *"} {
		buf = append(escape.AppendWord(buf, arg), ' ')
	}
	fmt.Println(string(buf[:len(buf)-1]))
	// Output:
	// 'ls' '--' 'it'\''s *'
}
