package escape_test

import (
	"fmt"
	"os"
	"os/exec"

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
