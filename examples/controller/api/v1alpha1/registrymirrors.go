// Package v1alpha1 has the resource RegistryMirrors of mirrorpatch.example.com:
// which registries the nodes of some TalosConfigTemplates pull from, and how.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// GroupVersion is that of RegistryMirrors.
var GroupVersion = schema.GroupVersion{Group: "mirrorpatch.example.com", Version: "v1alpha1"}

// AddToScheme makes the types of this package known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &RegistryMirrors{}, &RegistryMirrorsList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// RegistryMirrors keeps the registries of TalosConfigTemplates of its namespace
// as its spec has them.
type RegistryMirrors struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RegistryMirrorsSpec   `json:"spec"`
	Status RegistryMirrorsStatus `json:"status,omitzero"`
}

// RegistryMirrorsList is a list of RegistryMirrors.
type RegistryMirrorsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RegistryMirrors `json:"items"`
}

// RegistryMirrorsSpec is a [mirrors.Set] whose credentials are in Secrets, and
// the templates that shall have it.
type RegistryMirrorsSpec struct {
	// TalosVersion is the version of the nodes, such as v1.13. For a template
	// that names an older one, that counts.
	TalosVersion string `json:"talosVersion"`

	// Form is "legacy" or "documents"; the version decides when it is empty.
	Form string `json:"form,omitempty"`

	// Templates are the TalosConfigTemplates of the same namespace.
	Templates TemplateSelector `json:"templates"`

	// Mirrors has a key for each upstream registry, or "*". Without any, and without
	// Config, the spec is not valid, and the templates keep what they have: delete
	// the RegistryMirrors to take the registries out of them.
	Mirrors map[string]mirrors.Mirror `json:"mirrors,omitempty"`

	// Config has a key for each host that needs credentials or TLS settings,
	// as the endpoint's URL spells it.
	Config map[string]HostConfig `json:"config,omitempty"`
}

// TemplateSelector selects a template by its name or by its labels: either is enough.
type TemplateSelector struct {
	// Names of templates. One that is not there is reported.
	Names []string `json:"names,omitempty"`

	// Labels of templates. An empty selector selects all of the namespace.
	Labels *metav1.LabelSelector `json:"labels,omitempty"`
}

// HostConfig holds the credentials and the TLS settings of one host.
type HostConfig struct {
	// Auth names a Secret with username and password (type
	// kubernetes.io/basic-auth has these keys), or with identityToken, or with auth,
	// which is base64 of user:password.
	Auth *FromSecret `json:"auth,omitempty"`

	TLS *TLS `json:"tls,omitempty"`
}

// TLS holds the TLS settings of one host.
type TLS struct {
	// CA is one or more certificates, as PEM or base64 of it.
	CA mirrors.PEM `json:"ca,omitempty"`

	// ClientIdentity names a Secret with tls.crt and tls.key (type
	// kubernetes.io/tls has these keys).
	ClientIdentity *FromSecret `json:"clientIdentity,omitempty"`

	// InsecureSkipVerify turns the verification of the host's certificate off.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// FromSecret stands for what is in a Secret.
type FromSecret struct {
	SecretRef SecretReference `json:"secretRef"`
}

// SecretReference names a Secret of the same namespace. The Secret has the label
// [CredentialsLabel] with the value "true". Keys that are not asked for do not count.
type SecretReference struct {
	Name string `json:"name"`
}

// CredentialsLabel is on every Secret that the controller asks for. Who can write
// RegistryMirrors, and read templates, can read what is in such a Secret.
const CredentialsLabel = "mirrorpatch.example.com/registry-credentials"

// RegistryMirrorsStatus says what became of the spec.
type RegistryMirrorsStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions are about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Valid and Ready.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

const (
	// Valid says whether the spec and its Secrets can be written. Its message has
	// a line for each finding: path: message (fix) [rule].
	Valid = "Valid"

	// Ready says whether every selected template has the spec.
	Ready = "Ready"
)

// Reasons of the conditions.
const (
	ReasonAccepted             = "Accepted"             // Valid
	ReasonAcceptedWithWarnings = "AcceptedWithWarnings" // Valid
	ReasonFindings             = "Findings"             // not Valid
	ReasonSecretMissing        = "SecretMissing"        // not Valid, for that alone

	ReasonConverged   = "Converged"   // Ready
	ReasonNoTemplates = "NoTemplates" // Ready: there is none yet
	ReasonNotValid    = "NotValid"    // not Ready: nothing is written
	ReasonConflict    = "Conflict"    // not Ready: another RegistryMirrors selects a template too
	ReasonFailed      = "Failed"      // not Ready: for some template, or for some that is named and not there
	ReasonDeleting    = "Deleting"    // not Ready: what was written cannot be removed yet
)
