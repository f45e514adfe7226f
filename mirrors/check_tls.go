package mirrors

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strconv"
	"strings"
)

func (c *checker) tls(key string, t *TLS) {
	if t.InsecureSkipVerify {
		c.configProblem(RuleInsecureSkipVerify, SeverityWarning, configPlace(key, "tls.insecureSkipVerify"),
			"the certificate is not verified: whoever is in between can hand out any image", "want ca with the certificate of the host's CA")
	}
	if t.CA != "" {
		certs, reason := certificates(string(t.CA))
		if reason != "" {
			c.configProblem(RulePEMInvalid, SeverityError, configPlace(key, "tls.ca"), reason, "want certificates as PEM, or base64 of that")
		} else {
			c.validity(configPlace(key, "tls.ca"), certs, true)
		}
	}
	id := t.ClientIdentity
	if id == nil {
		return
	}
	p := configPlace(key, "tls.clientIdentity")
	if id.Certificate == "" || id.Key.IsZero() {
		what := "crt and key are both missing"
		if id.Certificate != "" {
			what = "crt without key"
		} else if !id.Key.IsZero() {
			what = "key without crt"
		}
		c.configProblem(RuleClientIdentity, SeverityError, p, what, "want both, or no clientIdentity")
	}
	var certs []*x509.Certificate
	reason, keyReason := "", ""
	if id.Certificate != "" {
		if certs, reason = certificates(string(id.Certificate)); reason != "" {
			c.configProblem(RulePEMInvalid, SeverityError, configPlace(key, "tls.clientIdentity.crt"), reason, "want certificates as PEM, or base64 of that")
		} else {
			c.validity(configPlace(key, "tls.clientIdentity.crt"), certs[:1], false)
		}
	}
	if !id.Key.IsZero() {
		if keyReason = badKey(id.Key.Reveal()); keyReason != "" {
			c.configProblem(RulePEMInvalid, SeverityError, configPlace(key, "tls.clientIdentity.key"), keyReason, "want an unencrypted private key as PEM, or base64 of that")
		}
	}
	if id.Certificate == "" || id.Key.IsZero() || reason != "" || keyReason != "" {
		return
	}
	if _, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key.Reveal())); err != nil {
		c.configProblem(RuleClientIdentity, SeverityError, p, "key and certificate do not belong together", "want the key that crt was made for")
	}
}

// certificates reads the certificates of a PEM text. The reason holds nothing of the text.
func certificates(text string) (certs []*x509.Certificate, reason string) {
	rest := []byte(text)
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			return nil, "PEM of another kind: " + pemKind(b.Type)
		}
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, "a certificate that does not parse"
		}
		certs = append(certs, cert)
	}
	switch {
	case certs == nil && isPEM(text):
		return nil, "damaged PEM"
	case certs == nil:
		return nil, "not PEM"
	case isPEM(string(rest)):
		return nil, "damaged PEM after the first certificates"
	}
	return certs, ""
}

// pemKind names a kind of PEM; what it does not know may be anything, and is not shown.
func pemKind(t string) string {
	switch t {
	case "CERTIFICATE REQUEST", "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PUBLIC KEY",
		"X509 CRL", "TRUSTED CERTIFICATE", "CERTIFICATE", "OPENSSH PRIVATE KEY", "EC PARAMETERS", "PKCS7":
		return strconv.Quote(t)
	}
	return "not a certificate"
}

func badKey(text string) string {
	rest := []byte(text)
	seen := ""
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "" {
			return "an encrypted private key"
		}
		if b.Type != "PRIVATE KEY" && !strings.HasSuffix(b.Type, " PRIVATE KEY") {
			seen = b.Type
			continue
		}
		if _, err := x509.ParsePKCS8PrivateKey(b.Bytes); err == nil {
			return ""
		}
		if _, err := x509.ParsePKCS1PrivateKey(b.Bytes); err == nil {
			return ""
		}
		if _, err := x509.ParseECPrivateKey(b.Bytes); err == nil {
			return ""
		}
		return "a private key that does not parse"
	}
	switch {
	case seen != "":
		return "PEM of another kind: " + pemKind(seen)
	case isPEM(text):
		return "damaged PEM"
	}
	return "not PEM"
}

// validity reports certificates of which none is valid. One that is old beside
// one that is not is how a CA is replaced.
func (c *checker) validity(p Place, certs []*x509.Certificate, bundle bool) {
	var message string
	for _, cert := range certs {
		switch {
		case c.now.After(cert.NotAfter):
			message = "the certificate expired on " + cert.NotAfter.UTC().Format("2006-01-02")
		case c.now.Before(cert.NotBefore):
			message = "the certificate is not valid before " + cert.NotBefore.UTC().Format("2006-01-02")
		default:
			return
		}
	}
	if bundle && len(certs) > 1 {
		message = "none of the certificates is valid; of the last, " + message
	}
	c.configProblem(RuleCertificateExpired, SeverityWarning, p, message, "want a certificate that is valid now")
}
