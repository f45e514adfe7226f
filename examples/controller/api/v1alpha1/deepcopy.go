package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// DeepCopyObject returns a copy that shares nothing with r.
func (r *RegistryMirrors) DeepCopyObject() runtime.Object {
	if r == nil {
		return nil
	}
	return r.DeepCopy()
}

// DeepCopy returns a copy that shares nothing with r.
func (r *RegistryMirrors) DeepCopy() *RegistryMirrors {
	if r == nil {
		return nil
	}
	return &RegistryMirrors{TypeMeta: r.TypeMeta, ObjectMeta: *r.ObjectMeta.DeepCopy(), Spec: r.Spec.DeepCopy(), Status: r.Status.DeepCopy()}
}

// DeepCopyObject returns a copy that shares nothing with l.
func (l *RegistryMirrorsList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	c := &RegistryMirrorsList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopy())
	}
	return c
}

// DeepCopy returns a copy that shares nothing with s.
func (s RegistryMirrorsSpec) DeepCopy() RegistryMirrorsSpec {
	s.Templates.Names = slices.Clone(s.Templates.Names)
	s.Templates.Labels = s.Templates.Labels.DeepCopy()
	s.Mirrors = mirrors.Set{Mirrors: s.Mirrors}.DeepCopy().Mirrors
	if s.Config != nil {
		config := make(map[string]HostConfig, len(s.Config))
		for host, c := range s.Config {
			config[host] = c.DeepCopy()
		}
		s.Config = config
	}
	return s
}

// DeepCopy returns a copy that shares nothing with c.
func (c HostConfig) DeepCopy() HostConfig {
	c.Auth = c.Auth.DeepCopy()
	if c.TLS != nil {
		tls := *c.TLS
		tls.ClientIdentity = tls.ClientIdentity.DeepCopy()
		c.TLS = &tls
	}
	return c
}

// DeepCopy returns a copy that shares nothing with f.
func (f *FromSecret) DeepCopy() *FromSecret {
	if f == nil {
		return nil
	}
	c := *f
	return &c
}

// DeepCopy returns a copy that shares nothing with s.
func (s RegistryMirrorsStatus) DeepCopy() RegistryMirrorsStatus {
	if s.Conditions != nil {
		conditions := make([]metav1.Condition, len(s.Conditions))
		for i := range s.Conditions {
			s.Conditions[i].DeepCopyInto(&conditions[i])
		}
		s.Conditions = conditions
	}
	return s
}
