package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/examples/controller/talosconfigtemplate"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Rules beside those of package mirrors.
const (
	ruleSecretMissing = "secret-missing"
	ruleSecretKeys    = "secret-keys"
)

// secretNames returns the Secrets that a spec refers to, each once, sorted.
func secretNames(spec v1alpha1.RegistryMirrorsSpec) (names []string) {
	for _, host := range spec.Config {
		if host.Auth != nil {
			names = append(names, host.Auth.SecretRef.Name)
		}
		if host.TLS != nil && host.TLS.ClientIdentity != nil {
			names = append(names, host.TLS.ClientIdentity.SecretRef.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// setOf puts the spec and its Secrets together. A Secret that is not there, or
// lacks what it is asked for, is a finding.
func setOf(spec v1alpha1.RegistryMirrorsSpec, secrets map[string]*corev1.Secret) (set mirrors.Set, findings mirrors.Findings) {
	spec = spec.DeepCopy()
	set.Mirrors = spec.Mirrors
	missing := func(path, name string) {
		findings = append(findings, mirrors.Finding{Rule: ruleSecretMissing, Severity: mirrors.SeverityError, Path: path,
			Message: fmt.Sprintf("no Secret %q with the label %s=true in this namespace", name, v1alpha1.CredentialsLabel), Fix: "make it, or set the label"})
	}
	lacks := func(path, name, want string) {
		findings = append(findings, mirrors.Finding{Rule: ruleSecretKeys, Severity: mirrors.SeverityError, Path: path,
			Message: fmt.Sprintf("Secret %q does not have the keys that are needed", name), Fix: "want " + want})
	}
	for host, c := range spec.Config {
		path := fmt.Sprintf("config[%q]", host)
		var config mirrors.HostConfig
		if c.Auth != nil {
			name := c.Auth.SecretRef.Name
			if secret, ok := secrets[name]; !ok {
				missing(path+".auth.secretRef", name)
			} else if auth, ok := authOf(secret.Data); !ok {
				lacks(path+".auth.secretRef", name, "username and password, or identityToken, or auth")
			} else {
				config.Auth = &auth
			}
		}
		if c.TLS != nil {
			config.TLS = &mirrors.TLS{CA: c.TLS.CA, InsecureSkipVerify: c.TLS.InsecureSkipVerify}
			if c.TLS.ClientIdentity != nil {
				name := c.TLS.ClientIdentity.SecretRef.Name
				secret, ok := secrets[name]
				switch {
				case !ok:
					missing(path+".tls.clientIdentity.secretRef", name)
				case len(secret.Data["tls.crt"]) == 0 || len(secret.Data["tls.key"]) == 0:
					lacks(path+".tls.clientIdentity.secretRef", name, "tls.crt and tls.key")
				default:
					config.TLS.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(secret.Data["tls.crt"]), Key: mirrors.NewSecret(string(secret.Data["tls.key"]))}
				}
			}
		}
		if set.Config == nil {
			set.Config = map[string]mirrors.HostConfig{}
		}
		set.Config[host] = config
	}
	return set, findings
}

// authOf takes credentials out of a Secret. That there are two kinds at once is
// a finding of package mirrors.
func authOf(data map[string][]byte) (auth mirrors.Auth, ok bool) {
	auth.Username = string(data["username"])
	for key, into := range map[string]*mirrors.Secret{"password": &auth.Password, "identityToken": &auth.IdentityToken, "auth": &auth.Auth} {
		if len(data[key]) > 0 {
			*into = mirrors.NewSecret(string(data[key]))
			ok = true
		}
	}
	return auth, ok && (auth.Username != "") == (len(data["password"]) > 0)
}

// desiredOf judges a spec: what templates shall have, nil where that cannot be
// written, and every finding.
func desiredOf(name string, spec v1alpha1.RegistryMirrorsSpec, secrets map[string]*corev1.Secret) (*talosconfigtemplate.Desired, mirrors.Findings) {
	refuse := func(path string, err error) mirrors.Finding {
		return mirrors.Finding{Rule: "cannot-be-written", Severity: mirrors.SeverityError, Path: path, Message: err.Error()}
	}
	set, findings := setOf(spec, secrets)
	version, err := configpatch.ParseVersion(spec.TalosVersion)
	if err != nil {
		return nil, under(append(findings, refuse("talosVersion", err)))
	}
	checks := []mirrors.CheckOption{mirrors.ForTalos(version.String())}
	var options []configpatch.Option
	if spec.Form != "" {
		form, err := configpatch.ParseForm(spec.Form)
		if err != nil {
			return nil, under(append(findings, refuse("form", err)))
		}
		checks = append(checks, mirrors.InForm(spec.Form))
		options = append(options, configpatch.WithForm(form))
	}
	if _, _, err := selectorOf(spec.Templates); err != nil {
		findings = append(findings, refuse("templates.labels", err))
	}
	findings = append(findings, set.Check(checks...)...)
	if findings.Err() != nil {
		return nil, under(findings)
	}
	desired, err := talosconfigtemplate.New(name, set, version, options...)
	if err != nil {
		return nil, under(append(findings, refuse("", err)))
	}
	return desired, under(findings)
}

// under puts the findings into an order that does not depend on maps, with the
// paths that the resource has.
func under(findings mirrors.Findings) mirrors.Findings {
	for i := range findings {
		findings[i].Path = strings.TrimSuffix("spec."+findings[i].Path, ".")
	}
	slices.SortStableFunc(findings, func(a, b mirrors.Finding) int { return strings.Compare(a.Path, b.Path) })
	return findings
}
