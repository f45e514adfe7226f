package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// TestSetOf: what each key of a Secret becomes.
func TestSetOf(t *testing.T) {
	const host = "cache.internal:5000"
	made := mirrors.NewSecret
	for name, c := range map[string]struct {
		data map[string]string
		want mirrors.HostConfig
		rule string
	}{
		"a password":          {map[string]string{"username": "u", "password": "p", "other": "x"}, mirrors.HostConfig{Auth: &mirrors.Auth{Username: "u", Password: made("p")}}, ""},
		"an identity token":   {map[string]string{"identityToken": "t"}, mirrors.HostConfig{Auth: &mirrors.Auth{IdentityToken: made("t")}}, ""},
		"auth":                {map[string]string{"auth": "dTpw"}, mirrors.HostConfig{Auth: &mirrors.Auth{Auth: made("dTpw")}}, ""},
		"nothing":             {map[string]string{"PASSWORD": "p"}, mirrors.HostConfig{}, ruleSecretKeys},
		"no password":         {map[string]string{"username": "u"}, mirrors.HostConfig{}, ruleSecretKeys},
		"an empty password":   {map[string]string{"username": "u", "password": ""}, mirrors.HostConfig{}, ruleSecretKeys},
		"no user":             {map[string]string{"password": "p"}, mirrors.HostConfig{}, ruleSecretKeys},
		"half of it, and all": {map[string]string{"username": "u", "identityToken": "t"}, mirrors.HostConfig{}, ruleSecretKeys},
	} {
		secret := &corev1.Secret{Data: map[string][]byte{}}
		for key, value := range c.data {
			secret.Data[key] = []byte(value)
		}
		spec := v1alpha1.RegistryMirrorsSpec{Config: map[string]v1alpha1.HostConfig{host: {Auth: &v1alpha1.FromSecret{SecretRef: v1alpha1.SecretReference{Name: "login"}}}}}
		set, findings := setOf(spec, map[string]*corev1.Secret{"login": secret})
		assert.True(t, set.Config[host].Equal(c.want), name)
		if c.rule == "" {
			assert.Empty(t, findings, name)
		} else if assert.Len(t, findings, 1, name) {
			assert.Equal(t, c.rule, findings[0].Rule, name)
		}
	}

	spec := v1alpha1.RegistryMirrorsSpec{Config: map[string]v1alpha1.HostConfig{host: {TLS: &v1alpha1.TLS{CA: "ca", InsecureSkipVerify: true, ClientIdentity: &v1alpha1.FromSecret{SecretRef: v1alpha1.SecretReference{Name: "id"}}}}}}
	assert.Equal(t, []string{"id"}, secretNames(spec))
	set, findings := setOf(spec, map[string]*corev1.Secret{"id": {Data: map[string][]byte{"tls.crt": []byte("crt"), "tls.key": []byte("key")}}})
	assert.Empty(t, findings)
	want := mirrors.HostConfig{TLS: &mirrors.TLS{CA: "ca", InsecureSkipVerify: true, ClientIdentity: &mirrors.ClientIdentity{Certificate: "crt", Key: made("key")}}}
	assert.True(t, set.Config[host].Equal(want))
	_, findings = setOf(spec, map[string]*corev1.Secret{"id": {Data: map[string][]byte{"tls.crt": []byte("crt")}}})
	require.Len(t, findings, 1)
	assert.Equal(t, `config["cache.internal:5000"].tls.clientIdentity.secretRef`, findings[0].Path)
}

// TestMessage: a condition has room for so much, and says what it leaves out.
func TestMessage(t *testing.T) {
	assert.Equal(t, "a\nb", message("a", "b"))
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 96)))
	}
	text := message(lines...)
	assert.LessOrEqual(t, len(text), longest)
	assert.Greater(t, len(text), longest-300)
	assert.True(t, strings.HasPrefix(text, lines[0]+"\n"+lines[1]))
	kept := strings.Count(text, "x\n")
	assert.True(t, strings.HasSuffix(text, fmt.Sprintf("\n… and %d more lines", 1000-kept)), text[len(text)-100:])
	assert.Equal(t, "… and 1 more lines", message(strings.Repeat("y", longest)))
}

// TestSaid: of what the API server says, nothing that it quotes.
func TestSaid(t *testing.T) {
	const quoted = "made-up-secret"
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "TalosConfigTemplate"}, "workers", field.ErrorList{
		field.Invalid(field.NewPath("spec", "template"), quoted, quoted),
	})
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: `admission webhook "a.example.com" denied the request: ` + quoted}}
	policy := &apierrors.StatusError{ErrStatus: metav1.Status{Message: `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ` + quoted}}
	for want, err := range map[string]error{
		"the API server refuses it: Invalid; spec.template: FieldValueInvalid":             invalid,
		`the API server refuses it: Forbidden, by admission webhook "a.example.com"`:       denied,
		"the API server refuses it: no reason given, by ValidatingAdmissionPolicy 'p'":     fmt.Errorf("wrapped: %w", policy),
		`the API server refuses it: InternalError, failed calling webhook "a.example.com"`: apierrors.NewInternalError(errors.New(`failed calling webhook "a.example.com": ` + quoted)),
		"a broken pipe": errors.New("a broken pipe"),
	} {
		assert.EqualError(t, said(err), want)
	}
	assert.NoError(t, said(nil))
}

// TestStale: of an outdated object there is no report; another conflict has one.
func TestStale(t *testing.T) {
	const old = "the object has been modified; please apply your changes to the latest version and try again"
	stale := unlessStale(fmt.Errorf("wrapped: %w", apierrors.NewConflict(schema.GroupResource{}, "x", errors.New(old))))
	require.ErrorIs(t, stale, errStale)
	quota := unlessStale(apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("made-up-secret")))
	require.EqualError(t, quota, "the API server refuses it: Conflict")
	webhook := unlessStale(&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict, Message: `admission webhook "a.example.com" denied the request: ` + old}})
	require.EqualError(t, webhook, `the API server refuses it: Conflict, by admission webhook "a.example.com"`)
	require.EqualError(t, unlessStale(apierrors.NewNotFound(schema.GroupResource{}, "x")), "the API server refuses it: NotFound")

	gone := outcome{"b", &failure{quota}}
	for name, c := range map[string]struct {
		outcomes []outcome
		want     string
		quiet    bool
		wait     time.Duration
	}{
		"good":         {[]outcome{{"a", nil}}, "", false, 0},
		"a bad one":    {[]outcome{{"a", errors.New("bad")}}, "", false, 0},
		"a refusal":    {[]outcome{{"a", &refusal{errors.New("no")}}}, "", false, again},
		"stale":        {[]outcome{{"a", fmt.Errorf("x: %w", &failure{stale})}, {"c", nil}}, "TalosConfigTemplate a: it has changed meanwhile", true, 0},
		"a failure":    {[]outcome{{"c", nil}, gone}, "TalosConfigTemplate b: the API server refuses it: Conflict", false, 0},
		"both of them": {[]outcome{{"a", &failure{stale}}, gone}, "TalosConfigTemplate a: it has changed meanwhile\nTalosConfigTemplate b: the API server refuses it: Conflict", true, 0},
	} {
		result, err := pending(c.outcomes)
		if c.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, c.want, name)
		}
		assert.Equal(t, c.wait, result.RequeueAfter, name)
		assert.Equal(t, c.quiet, errors.Is(err, errStale), name)
	}
}
