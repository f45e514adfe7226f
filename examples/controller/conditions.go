package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// longest is how long a message may be: metav1.Condition has room for it.
const longest = 32768

// message joins lines, as many as there is room for.
func message(lines ...string) string {
	const room = longest - 64
	text := strings.Join(lines, "\n")
	if len(text) <= room {
		return text
	}
	text = ""
	for i, line := range lines {
		if len(text)+len(line) > room {
			return strings.TrimPrefix(text+fmt.Sprintf("\n… and %d more lines", len(lines)-i), "\n")
		}
		text += line + "\n"
	}
	return text
}

// conclude sets one condition, for the present generation.
func conclude(m *v1alpha1.RegistryMirrors, kind string, status bool, reason, text string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: text, ObservedGeneration: m.Generation}
	if status {
		c.Status = metav1.ConditionTrue
	}
	m.Status.ObservedGeneration = m.Generation
	meta.SetStatusCondition(&m.Status.Conditions, c)
}

// concludeValid sets Valid by the findings.
func concludeValid(m *v1alpha1.RegistryMirrors, findings mirrors.Findings) {
	bad := findings.Err() != nil
	reason := v1alpha1.ReasonAccepted
	switch {
	case bad && !slices.ContainsFunc(findings, func(f mirrors.Finding) bool {
		return f.Severity == mirrors.SeverityError && f.Rule != ruleSecretMissing
	}):
		reason = v1alpha1.ReasonSecretMissing
	case bad:
		reason = v1alpha1.ReasonFindings
	case slices.ContainsFunc(findings, func(f mirrors.Finding) bool { return f.Severity == mirrors.SeverityWarning }):
		reason = v1alpha1.ReasonAcceptedWithWarnings
	}
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = fmt.Sprintf("%s: %s [%s]", f.Severity, f, f.Rule)
	}
	conclude(m, v1alpha1.Valid, !bad, reason, message(lines...))
}
