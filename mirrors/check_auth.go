package mirrors

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
)

func (c *checker) auth(key string, a *Auth) {
	p := configPlace(key, "auth")
	switch {
	case !a.usable() && a.Password.IsZero():
		c.configProblem(RuleAuthIncomplete, SeverityError, p, "no credentials: machined refuses to pull, containerd pulls without any",
			"want username and password, identityToken or auth; or no auth at all")
	case !a.usable():
		c.configProblem(RuleAuthIncomplete, SeverityError, p, "a password without username", "want both")
	case a.Username != "" && a.Password.IsZero() && a.Auth.IsZero() && a.IdentityToken.IsZero():
		c.configProblem(RuleAuthIncomplete, SeverityError, p, "a username without password: no puller sends it", "want both")
	}
	var have []string
	for _, f := range []struct {
		name string
		is   bool
	}{{"username", a.Username != ""}, {"auth", !a.Auth.IsZero()}, {"identityToken", !a.IdentityToken.IsZero()}} {
		if f.is {
			have = append(have, f.name)
		}
	}
	if len(have) > 1 {
		c.configProblem(RuleAuthConflict, SeverityError, p, strings.Join(have, " beside ")+": Talos refuses it in documents, and uses one of them in the legacy form",
			"want one of username and password, identityToken, auth")
	} else if len(have) == 1 && have[0] != "username" && !a.Password.IsZero() {
		c.configProblem(RuleAuthConflict, SeverityError, p, "password beside "+have[0]+": the password is not used", "want one of username and password, identityToken, auth")
	}
	password := a.Password.Reveal()
	if !a.Auth.IsZero() {
		user, pass, ok := "", "", false
		b, err := base64.StdEncoding.DecodeString(a.Auth.Reveal())
		if err == nil {
			user, pass, ok = strings.Cut(string(b), ":")
		}
		if !ok || user == "" || pass == "" {
			c.configProblem(RuleAuthEncoding, SeverityError, configPlace(key, "auth.auth"), `not base64 of "user:password"`,
				`want what "printf %s user:password | base64" prints, or username and password`)
		} else if isPlaceholder(user) || isPlaceholder(pass) {
			c.placeholder(key, "auth.auth")
		}
	}
	if isPlaceholder(a.Username) {
		c.placeholder(key, "auth.username")
	}
	if isPlaceholder(password) {
		c.placeholder(key, "auth.password")
	}
	if isPlaceholder(a.IdentityToken.Reveal()) {
		c.placeholder(key, "auth.identityToken")
	}
	if a.usable() && c.hosts[key].http {
		if ip, err := netip.ParseAddr(strings.Trim(hostname(key), "[]")); hostname(key) != "localhost" && (err != nil || !ip.IsLoopback()) {
			c.configProblem(RuleHttpCredentials, SeverityWarning, p, fmt.Sprintf("an endpoint is http://%s: the credentials cross the network as they are", key),
				fmt.Sprintf("want https://%s as the endpoint", key))
		}
	}
}

func (c *checker) placeholder(key, field string) {
	c.configProblem(RulePlaceholderSecret, SeverityWarning, configPlace(key, field), "this looks like a placeholder, not like the value", "want the value itself")
}

var placeholderPunctuation = strings.NewReplacer("-", "", "_", "", " ", "")

// isPlaceholder recognizes what templates and examples have in place of a secret.
func isPlaceholder(s string) bool {
	if s == "" {
		return false
	}
	l := strings.ToLower(s)
	switch placeholderPunctuation.Replace(l) {
	case "changeme", "changeit", "replaceme", "todo", "redacted", "placeholder", "yourpassword", "yourusername", "yourtoken":
		return true
	}
	between := func(open, end string) bool {
		return strings.HasPrefix(s, open) && strings.HasSuffix(s, end) && len(s) > len(open)+len(end)
	}
	if between("<", ">") || between("${", "}") || between("{{", "}}") || between("[", "]") && l == "[redacted]" {
		return true
	}
	return len(s) >= 3 && (strings.Trim(l, "x") == "" || strings.Trim(s, "*") == "" || strings.Trim(s, ".") == "")
}
