package escape

import "strings"

// Form says what the value of a live variable may be. The zero value is an
// error wherever it is used. Forms can be compared with ==.
type Form struct {
	want  string // "an IPv4 or IPv6 address"
	check string // shell source, with @NAME@ and @REFUSE@ in it
	chars string // the characters of Chars
}

// The check of a form is one case command or several. Each runs
// mirrorpatch_refuse, with the name and what is wanted, for a value that
// does not have the form. Bracket expressions list every character: a range
// depends on the locale in bash 5.2, yash 2.52 and ksh93u+m.
const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex    = "0123456789abcdefABCDEF"
)

var (
	// Any is every value, an empty one too, as long as the variable is set. A
	// variable of this form can stand in a command as a word, and in YAML by
	// its YAML method.
	Any = Form{want: "any text", check: ""}

	// Address is an IPv4 address in four decimal numbers, or an IPv6 address
	// in hexadecimal without a zone: what netip.ParseAddr takes, except for
	// IPv4 within IPv6. IPv6 comes without brackets: in a URL, see URLHost.
	Address = Form{want: "an IPv4 or IPv6 address", check: addressCheck}

	// URLHost is what stands for the host in a URL, before a colon and a port
	// or the path: an IPv6 address of the form Address in brackets, an IPv4
	// address, or a name of the form DNSName. Bare IPv6 is refused: in
	// https://${HOST}:6443 its last group and the port would be one.
	URLHost = Form{want: "the host of a URL: a DNS name, an IPv4 address, or an IPv6 address in brackets", check: urlHostCheck}

	// DNSName is a name of lower-case labels: what Kubernetes takes for a DNS
	// subdomain (RFC 1123), at most 253 characters, with labels of at most 63
	// as DNS has them.
	DNSName = Form{want: "a DNS name in lower case", check: dnsCheck("''|") + "\n"}

	// Port is a port number from 1 to 65535, without leading zeros.
	Port = Form{want: "a port number from 1 to 65535", check: portCheck}

	// Base64 is padded standard base64 (RFC 4648, section 4) in one line, not empty.
	Base64 = Form{want: "base64 in one line", check: base64Check("+/")}

	// Base64URL is padded base64 of the URL alphabet (RFC 4648, section 5) in
	// one line, not empty: a cluster id of Talos 1.13.9.
	Base64URL = Form{want: "base64 of the URL alphabet in one line", check: base64Check("-_")}

	// Token is a token as kubeadm and Talos 1.13.9 make them: six and sixteen
	// lower-case letters and digits with a dot between.
	Token = Form{want: "a token of the form abcdef.0123456789abcdef", check: tokenCheck}
)

// Chars is a value of one or more of the characters of set, which is a
// constant. The set is printable ASCII; anything else in it is an error
// wherever the form is used. A value with a newline, a blank or a quote in it
// is not bounded by YAML or a command any more: leave them out of the set
// unless the place allows for them.
func Chars(set constant) Form {
	refused := "''|*" + bracket(string(set), true) + "*"
	if strings.IndexByte(string(set), '\\') < 0 {
		// ksh93u+m takes the backslash that quotes a character for a member.
		refused += `|*\\*`
	}
	return Form{want: charsWant + string(set), check: ifNot(refused) + "\n", chars: string(set)}
}

// Characters is the set of a form that [Chars] made, and empty for every other
// form.
func (f Form) Characters() string { return f.chars }

const charsWant = "one or more of the characters "

// problem says what is wrong with the form.
func (f Form) problem() *Error {
	if f.want == "" {
		return &Error{Place: "live", Offset: -1, Reason: "no form", Fix: "say what the value may be: Address, DNSName, Chars(…), …"}
	}
	if f.chars == "" && f.want != charsWant {
		return nil
	}
	if f.chars == "" {
		return &Error{Place: "live", Offset: -1, Reason: "a set of no characters", Fix: "name at least one"}
	}
	for i := range len(f.chars) {
		if c := f.chars[i]; c < ' ' || c > '~' {
			return &Error{Place: "live", Offset: i, Reason: "a character that is not printable ASCII in the set of a form", Fix: "leave it out, or use the form Any"}
		}
	}
	return nil
}

// source is the check for the variable.
func (f Form) source(name string) string {
	if f == Any {
		return "case ${" + name + "+set} in\nset) ;;\n*) " + refusal(name, f) + " ;;\nesac\n"
	}
	return strings.NewReplacer("@NAME@", name, "@REFUSE@", refusal(name, f)).Replace(f.check)
}

func refusal(name string, f Form) string {
	return ownPrefix + "refuse " + name + " " + string(AppendWord(nil, f.want))
}

// refuseFunction prints the message of a check that failed. It never prints
// the value, which may be a secret.
const refuseFunction = ownPrefix + `refuse() {
printf '%s\n' "$1: not set, empty or not of its form: want $2" >&2
exit 1
}
`

// ifNot is the check that refuses a value that matches one of the patterns.
func ifNot(patterns string) string { return ifNotOf("${@NAME@-}", patterns) }

func ifNotOf(word, patterns string) string {
	return "case " + word + " in\n" + patterns + ") @REFUSE@ ;;\nesac"
}

// bracket is the bracket expression of the characters, or of all others.
func bracket(set string, not bool) string {
	var b strings.Builder
	b.WriteByte('[')
	if not {
		b.WriteByte('!')
	}
	has := func(c byte) bool { return strings.IndexByte(set, c) >= 0 }
	if has(']') {
		b.WriteByte(']')
	}
	for c := byte(' '); c <= '~'; c++ {
		if !has(c) || strings.IndexByte("]!^-", c) >= 0 {
			continue
		}
		if !isNameByte(c) && strings.IndexByte("%+,./:=@", c) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	for _, c := range []byte("!^-") {
		if has(c) {
			b.WriteByte(c)
		}
	}
	b.WriteByte(']')
	return b.String()
}

func times(n int, s string) string { return strings.Repeat(s, n) }

var (
	digit    = bracket(digits, false)
	hexDigit = bracket(hex, false)
)

var addressCheck = "case ${@NAME@-} in\n" +
	"''|*" + bracket(hex+":.", true) + "*) @REFUSE@ ;;\n" +
	"*:*)\n" + ipv6Check("*.*") + " ;;\n" +
	"*)\n" + ipv4Check("*"+bracket(digits+".", true)+"*|") + " ;;\n" +
	"esac\n"

var urlHostCheck = "case ${@NAME@-} in\n" +
	"\\[*\\])\n" +
	ownPrefix + "host=${@NAME@#?}\n" +
	ownPrefix + "host=${" + ownPrefix + "host%?}\n" +
	strings.ReplaceAll(ipv6Check("*"+bracket(hex+":", true)+"*"), "@NAME@", ownPrefix+"host") + " ;;\n" +
	"*" + bracket(digits+".", true) + "*)\n" + dnsCheck("") + " ;;\n" +
	"*)\n" + ipv4Check("") + " ;;\n" +
	"esac\n"

// ipv6Check refuses what matches one of the patterns, a single colon at an end,
// a second ::, groups of more than four, and another number of colons than
// eight groups have.
func ipv6Check(patterns string) string {
	return ifNot(patterns+"|:[!:]*|*[!:]:|*:::*|*::*::*|*"+times(5, hexDigit)+"*|*"+times(9, ":*")) + "\n" +
		"case ${@NAME@-} in\n" +
		"::" + times(6, "*:") + "*|" + times(6, "*:") + "*::) ;;\n" +
		times(8, "*:") + "*) @REFUSE@ ;;\n" +
		"*::*|" + times(7, "*:") + "*) ;;\n" +
		"*) @REFUSE@ ;;\n" +
		"esac"
}

func ipv4Check(patterns string) string {
	return ifNot(patterns+"*.*.*.*.*") + "\n" +
		"case .${@NAME@-}. in\n" +
		"*..*|*.0" + digit + "*|*" + times(4, digit) + "*|*." + bracket("3456789", false) + digit + digit + ".*|*.2" + bracket("6789", false) + digit + ".*|*.25" + bracket("6789", false) + ".*) @REFUSE@ ;;\n" +
		".*.*.*.*.) ;;\n" +
		"*) @REFUSE@ ;;\n" +
		"esac"
}

func dnsCheck(patterns string) string {
	return ifNot(patterns+"*"+bracket(lower+digits+"-.", true)+"*|.*|*.|-*|*-|*..*|*.-*|*-.*|*"+times(64, "[!.]")+"*") + "\n" +
		"if [ ${#@NAME@} -gt 253 ]; then @REFUSE@; fi"
}

var portCheck = ifNot("''|*"+bracket(digits, true)+"*|0*|??????*|6553"+bracket("6789", false)+"|655"+bracket("456789", false)+"?|65"+bracket("6789", false)+"??|6"+bracket("6789", false)+"???|"+bracket("789", false)+"????") + "\n"

// zsh 5.9 takes a pattern that begins with a bare = for the name of a program.
func base64Check(two string) string {
	return ifNot("''|*"+bracket(lower+upper+digits+two+"=", true)+"*|\\=*|*=[!=]*|*===*") + "\n" +
		"if [ $((${#@NAME@} % 4)) -ne 0 ]; then @REFUSE@; fi\n"
}

var tokenCheck = "case ${@NAME@-} in\n" +
	times(6, bracket(lower+digits, false)) + "." + times(16, bracket(lower+digits, false)) + ") ;;\n" +
	"*) @REFUSE@ ;;\n" +
	"esac\n"
