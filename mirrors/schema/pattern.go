package schema

import (
	"fmt"
	"strings"
)

// The patterns mean the same to ECMA-262, with its u flag and without, and to
// Go's RE2, which the API server and Helm have: no look-around, no \s, \w or
// \p, and ^ and $ are the ends of the text.
const (
	// port is 1 to 65535; net/url and Talos take zeros before it.
	port = `0*(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`

	// hostName is letters, digits, - and _, or beyond ASCII, with single dots in between and perhaps one behind.
	hostName = `[^\x00-,./:-@\[-\^` + "`" + `{-\x7f]+(?:\.[^\x00-,./:-@\[-\^` + "`" + `{-\x7f]+)*\.?`

	label = `[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?`

	// endpointScheme is the rule endpoint-scheme, and so on.
	endpointScheme   = `^[Hh][Tt][Tt][Pp][Ss]?://`
	endpointUserinfo = `^[^/?#]*//[^/?#@]*(?:[/?#]|$)`
	endpointQuery    = `^[^?#]*$`
	endpointEscapes  = `^(?:[^%]|%[0-9A-Fa-f]{2})*$`
	endpointText     = `^[^` + invisible + `]*$`

	hostAuthority = `^[^/?#]*//` + hostName + `(?::[^:/?#]*)?(?:[/?#]|$)`
	hostPort      = `^[^/?#]*//[^:/?#]*(?::` + port + `)?(?:[/?#]|$)`
	ipv6Port      = `^[^/?#]*//\[[^\]]*\](?::` + port + `)?(?:[/?#]|$)`

	// plainSegment of a path is none that is cleaned away, . or .., and has no escapes.
	plainSegment = `(?:[^/.%?#][^/%?#]*|\.[^/.%?#][^/%?#]*|\.\.[^/%?#]+)`
	notV2        = `(?:[^/.%v?#][^/%?#]*|v(?:[^2/%?#][^/%?#]*)?|v2[^/%?#]+|\.[^/.%?#][^/%?#]*|\.\.[^/%?#]+)`

	// projectPath has the segment v2, and another one last.
	projectPath = `^[^/?#]*//[^/?#]+/+(?:` + plainSegment + `/+)*v2/+(?:` + plainSegment + `/+)*` + notV2 + `/*$`

	// overriddenPath has the segment v2, or what may turn out to be one.
	overriddenPath = `^[^/?#]*//[^/?#]*/(?:[^?#]*/)?(?:v2(?:/|$)|\.\.?(?:/|$)|[^/?#]*%)`

	// For the API server, what an authority may be is in short pieces: it estimates the
	// cost of a rule by the length of its patterns.
	authority     = `^[^/?#]*//(?:[^/?#]*@)?`
	nameAuthority = authority + `[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]+)*\.?(?::[0-9]*)?(?:[/?#]|$)`
	bracketed     = authority + `\[`
	ipv6Groups    = authority + `\[(?:[0-9A-Fa-f]{0,4}:){2,8}(?:[0-9A-Fa-f]{0,4}|` + ipv4 + `)\](?::[0-9]*)?(?:[/?#]|$)`
	// What such groups may be in no IPv6 address: one colon at an end; :: twice, or
	// beside eight groups; or neither :: nor eight groups. An IPv4 address is two.
	ipv6Start  = `^[^/]*//\[`
	looseColon = ipv6Start + `(?::[^:]|[^\]]*[^:]:\])`
	shortened  = ipv6Start + `[^\]]*::`
	notShorter = ipv6Start + `(?:[^\]]*::(?:[^\]]*:)?:|:*(?:[^:\]]+:+){6}(?:[^:\]]+:+[^:\]]|[^:\]]*\.))`
	eightLong  = ipv6Start + `(?:[^:\]]+:){6}(?:[^:\]]+:[^:.\]]+|[^:\]]*\.[^:\]]*)\]`
	anyPort    = `^[^/?#]*//[^/?#]*:[0-9]*(?:[/?#]|$)`
	goodPort   = `^[^/?#]*//[^/?#]*:` + port + `(?:[/?#]|$)`

	octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4  = octet + `(?:\.` + octet + `){3}`

	configKey = `^[^/@?#` + invisible + `]+$`

	// mappedKey is an IPv4 address as an IPv6 address, which no image reference has.
	mappedKey = `^\[(?:0{1,4}:)*:{0,2}(?:0{1,4}:)*ffff:[0-9.]+\]`

	// authBase64 is what Go's encoding/base64 takes: line breaks anywhere.
	authBase64 = `^[\r\n]*(?:(?:[A-Za-z0-9+/][\r\n]*){4})*(?:(?:[A-Za-z0-9+/][\r\n]*){2}=[\r\n]*=[\r\n]*|(?:[A-Za-z0-9+/][\r\n]*){3}=[\r\n]*)?$`

	// pemText is PEM, or what may be base64 of it.
	pemText = `-----BEGIN |^[A-Za-z0-9+/=\t-\r \x85\xa0` + "\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000" + `]*$`

	// notBase64 is a character that base64 does not have, of those of ASCII that can be seen.
	notBase64 = `[!-*,-.:-<>-@\[-` + "`" + `{-~]`

	// invisible, of a bracket expression, is white space, control and format
	// characters, and the replacement character, up to U+FFFF.
	invisible = `\x00- \x7f-\xa0\xad` + "\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f\u2028-\u202f" +
		"\u205f-\u2064\u2066-\u206f\u3000\ufeff\ufff9-\ufffb\ufffd"
)

var (
	ipv6Authority = `^[^/?#]*//\[` + ipv6(`[0-9A-Fa-f]{1,4}`) + `\](?::[^:/?#]*)?(?:[/?#]|$)`
	registryName  = `^(?:\*|(?:` + label + `(?:\.` + label + `)+|localhost|\[` + ipv6(`[0-9a-f]{1,4}`) + `\])(?::` + port + `)?|` + label + `:` + port + `)$`
)

// ipv6 is an IPv6 address as Go's net/netip reads it: eight groups, or fewer with ::
// for at least one; of the last two there may be an IPv4 address instead.
func ipv6(group string) string {
	whole := []string{fmt.Sprintf(`(?:%s:){7}(?:%s|:)`, group, group)}
	mixed := []string{fmt.Sprintf(`(?:%s:){6}`, group)}
	for before := range 7 { // groups before the ::
		left := `::`
		if before > 0 {
			left = fmt.Sprintf(`(?:%s:){%d}:`, group, before)
		}
		whole = append(whole, left+fmt.Sprintf(`(?:%s(?::%s){0,%d})?`, group, group, 6-before))
		if before < 6 {
			mixed = append(mixed, left+fmt.Sprintf(`(?:%s:){0,%d}`, group, 5-before))
		}
	}
	return `(?:` + strings.Join(whole, `|`) + `|(?:` + strings.Join(mixed, `|`) + `)` + ipv4 + `)`
}
