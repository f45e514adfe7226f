package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/examples/controller/talosconfigtemplate"
)

// Finalizer keeps a RegistryMirrors until what it wrote is removed.
const Finalizer = "mirrorpatch.example.com/templates"

// fieldOwner is the field manager of what the controller writes.
const fieldOwner = client.FieldOwner("mirrorpatch-controller")

// again is after how long a template is tried again that the API server refused,
// and the longest delay after a failure: what is behind either is not watched.
const again = time.Minute

// Reconciler keeps the TalosConfigTemplates that a RegistryMirrors selects as
// its spec has them.
type Reconciler struct {
	client.Client
	Templates schema.GroupVersionKind // TalosConfigTemplate in the version that the server serves
}

// Reconcile judges one RegistryMirrors, writes to the templates, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var m v1alpha1.RegistryMirrors
	if err := r.Get(ctx, request.NamespacedName, &m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := m.DeepCopy()
	var result ctrl.Result
	var err error
	if m.DeletionTimestamp.IsZero() {
		result, err = r.converge(ctx, &m)
	} else {
		result, err = r.remove(ctx, &m)
	}
	// What could not be done is in the status, and err is for the next try. Of stale
	// objects nothing is said: the watch that brings the new ones brings the next round.
	if errors.Is(err, errStale) || equality.Semantic.DeepEqual(before.Status, m.Status) {
		return result, err
	}
	base := m.DeepCopy()
	base.Status = before.Status
	failed := client.IgnoreNotFound(r.Status().Patch(ctx, &m, client.MergeFrom(base), fieldOwner))
	return result, errors.Join(err, said(failed))
}

// outcome is what became of one template; err is nil for a good one.
type outcome struct {
	name string
	err  error
}

// pending returns, joined, what is to be tried again with a growing delay, and
// how long to wait otherwise: zero for as long as nothing changes.
func pending(outcomes []outcome) (result ctrl.Result, err error) {
	var failures []error
	for _, o := range outcomes {
		if refusal := (*refusal)(nil); errors.As(o.err, &refusal) {
			result.RequeueAfter = again
		}
		if failure := (*failure)(nil); errors.As(o.err, &failure) {
			failures = append(failures, fmt.Errorf("TalosConfigTemplate %s: %w", o.name, failure))
		}
	}
	return result, errors.Join(failures...)
}

// converge writes the spec to every template that it selects, and removes it from
// those that it no longer selects. A template that fails does not stop the others.
func (r *Reconciler) converge(ctx context.Context, m *v1alpha1.RegistryMirrors) (result ctrl.Result, err error) {
	if !controllerutil.ContainsFinalizer(m, Finalizer) {
		original := m.DeepCopy()
		controllerutil.AddFinalizer(m, Finalizer)
		if err := r.Patch(ctx, m, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
			if apierrors.IsNotFound(err) {
				return result, nil
			}
			err = unlessStale(err)
			conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonFailed, "nothing is written, since the finalizer is not: "+err.Error())
			return result, err
		}
	}
	secrets, err := r.secrets(ctx, m)
	if err != nil {
		return result, err
	}
	desired, findings := desiredOf(m.Name, m.Spec, secrets)
	concludeValid(m, findings)
	if desired == nil {
		conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonNotValid, "nothing is written while the spec is not valid; the templates keep what they have")
		return result, nil
	}

	templates, err := r.templates(ctx, m.Namespace)
	if err != nil {
		return result, err
	}
	var all v1alpha1.RegistryMirrorsList
	if err := r.List(ctx, &all, client.InNamespace(m.Namespace)); err != nil {
		return result, said(err)
	}
	var conflicts []string
	var outcomes []outcome
	for _, template := range templates {
		others := rivals(m, all.Items, template)
		switch {
		case selects(m.Spec.Templates, template) && len(others) > 0:
			conflicts = append(conflicts, fmt.Sprintf("%s: selected by RegistryMirrors %s too (valid or not, each counts); it keeps what it has", template.GetName(), strings.Join(others, ", ")))
		case selects(m.Spec.Templates, template):
			outcomes = append(outcomes, outcome{template.GetName(), r.write(ctx, template, desired.Converge)})
		case len(others) > 0: // theirs now
		default:
			if err := r.write(ctx, template, remover(m.Name)); err != nil {
				outcomes = append(outcomes, outcome{template.GetName(), fmt.Errorf("not selected any more, and not removed from it: %w", err)})
			}
		}
	}
	for _, name := range m.Spec.Templates.Names {
		if !slices.ContainsFunc(templates, func(t *unstructured.Unstructured) bool { return t.GetName() == name }) {
			outcomes = append(outcomes, outcome{name, errors.New("there is no TalosConfigTemplate of this name")})
		}
	}
	report(m, outcomes, conflicts)
	return pending(outcomes)
}

// remover takes an owner's part out of a template.
func remover(owner string) func(talosconfigtemplate.Template) (talosconfigtemplate.Template, error) {
	return func(t talosconfigtemplate.Template) (talosconfigtemplate.Template, error) { return t.Remove(owner) }
}

// report sets Ready.
func report(m *v1alpha1.RegistryMirrors, outcomes []outcome, conflicts []string) {
	good, lines := 0, conflicts
	for _, o := range outcomes {
		if o.err == nil {
			good++
			continue
		}
		for _, line := range strings.Split(o.err.Error(), "\n") {
			lines = append(lines, o.name+": "+line)
		}
	}
	total := len(outcomes) + len(conflicts)
	summary := fmt.Sprintf("%d of %d templates have the registries", good, total)
	switch {
	case len(conflicts) > 0:
		conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonConflict, message(append([]string{summary}, lines...)...))
	case good < total:
		conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonFailed, message(append([]string{summary}, lines...)...))
	case total == 0:
		conclude(m, v1alpha1.Ready, true, v1alpha1.ReasonNoTemplates, "no template is selected yet")
	default:
		conclude(m, v1alpha1.Ready, true, v1alpha1.ReasonConverged, summary)
	}
}

// remove takes out of the templates what was written in this name, and then lets
// the RegistryMirrors go.
func (r *Reconciler) remove(ctx context.Context, m *v1alpha1.RegistryMirrors) (result ctrl.Result, err error) {
	if !controllerutil.ContainsFinalizer(m, Finalizer) {
		return result, nil
	}
	templates, err := r.templates(ctx, m.Namespace)
	if err != nil {
		return result, err
	}
	var outcomes []outcome
	lines := []string{"not removed yet from:"}
	for _, template := range templates {
		if err := r.write(ctx, template, remover(m.Name)); err != nil {
			outcomes = append(outcomes, outcome{template.GetName(), err})
			lines = append(lines, fmt.Sprintf("%s: %v", template.GetName(), err))
		}
	}
	if len(outcomes) > 0 {
		conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonDeleting, message(lines...))
		return pending(outcomes)
	}
	original := m.DeepCopy()
	controllerutil.RemoveFinalizer(m, Finalizer)
	err = r.Patch(ctx, m, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}), fieldOwner)
	if err = client.IgnoreNotFound(err); err != nil {
		err = unlessStale(err)
		conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonDeleting, "removed from the templates, but the finalizer is not: "+err.Error())
	}
	return result, err
}

// write changes one template, where there is something to change. The error is
// what is wrong with the template, a *refusal, or a *failure.
func (r *Reconciler) write(ctx context.Context, template *unstructured.Unstructured,
	change func(talosconfigtemplate.Template) (talosconfigtemplate.Template, error)) error {
	if template.GetDeletionTimestamp() != nil {
		return nil
	}
	was, err := talosconfigtemplate.Read(template.Object)
	if err != nil {
		return err
	}
	next, err := change(was)
	if err != nil || next.Equal(was) {
		return err
	}
	object := template.DeepCopy()
	if err := next.Write(object.Object); err != nil {
		return err
	}
	// The list is one value to the API server, whoever sends it and however. The
	// resource version sees to it that nothing is lost that came in between.
	err = r.Patch(ctx, object, client.MergeFromWithOptions(template, client.MergeFromWithOptimisticLock{}), fieldOwner)
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info("changed a TalosConfigTemplate", "name", template.GetName())
		return nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		return &refusal{said(err)}
	}
	return &failure{unlessStale(err)}
}

// failure is a change that did not come about, such as for a webhook that does
// not answer: it may on the next try.
type failure struct{ error }

// Unwrap returns what the server said.
func (f *failure) Unwrap() error { return f.error }

// refusal is a change that the API server did not accept, and will not before
// someone has changed something, here or there.
type refusal struct{ error }

// Unwrap returns what the server said.
func (r *refusal) Unwrap() error { return r.error }

var gate = regexp.MustCompile(`admission webhook "[^"\s]+"|ValidatingAdmissionPolicy '[^'\s]+'|failed calling webhook "[^"\s]+"`)

// said is an error of the API server without what it quotes, which may be a
// whole template, with all its secrets.
func said(err error) error {
	status := apierrors.APIStatus(nil)
	if err == nil || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	text := "the API server refuses it: " + cmp.Or(string(s.Reason), "no reason given")
	if by := gate.FindString(s.Message); strings.HasPrefix(by, "failed") {
		text += ", " + by
	} else if by != "" {
		text += ", by " + by
	}
	if strings.HasSuffix(s.Message, " is immutable") { // the bootstrap provider's webhook, in these words
		text += ": spec is immutable (the webhook must exempt this controller)"
	}
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Type != "" { // an internal error's cause is its message
				text += fmt.Sprintf("; %s: %s", cause.Field, cause.Type)
			}
		}
	}
	return errors.New(text)
}

// errStale is of a change that was made from an old object.
var errStale = errors.New("it has changed meanwhile")

// unlessStale is what the API server said, or errStale. A conflict of another
// origin, such as a webhook's, may last, and is no reason for silence.
func unlessStale(err error) error {
	if apierrors.IsConflict(err) && !gate.MatchString(err.Error()) && strings.HasSuffix(err.Error(), "the object has been modified; please apply your changes to the latest version and try again") {
		return errStale
	}
	return said(err)
}

// secrets reads the Secrets that a spec refers to, out of the cache, which has
// those with the label.
func (r *Reconciler) secrets(ctx context.Context, m *v1alpha1.RegistryMirrors) (map[string]*corev1.Secret, error) {
	secrets := map[string]*corev1.Secret{}
	for _, name := range secretNames(m.Spec) {
		var secret corev1.Secret
		switch err := r.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: name}, &secret); {
		case err == nil:
			secrets[name] = &secret
		case !apierrors.IsNotFound(err):
			return nil, said(err)
		}
	}
	return secrets, nil
}

// templates returns those of a namespace, by name.
func (r *Reconciler) templates(ctx context.Context, namespace string) (found []*unstructured.Unstructured, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.Templates.GroupVersion().WithKind(r.Templates.Kind + "List"))
	if err := r.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, said(err)
	}
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found, nil
}

// selectorOf returns the selector of labels, and whether there is one.
func selectorOf(s v1alpha1.TemplateSelector) (selector labels.Selector, ok bool, err error) {
	if s.Labels == nil {
		return labels.Nothing(), false, nil
	}
	selector, err = metav1.LabelSelectorAsSelector(s.Labels)
	return selector, err == nil, err
}

func selects(s v1alpha1.TemplateSelector, template *unstructured.Unstructured) bool {
	if slices.Contains(s.Names, template.GetName()) {
		return true
	}
	selector, ok, _ := selectorOf(s) // a bad one is a finding of its own RegistryMirrors
	return ok && selector.Matches(labels.Set(template.GetLabels()))
}

// rivals are the others that select a template, by name. One that is being deleted
// is none. One that is not valid is: it may be so for a moment only, such as for
// want of a Secret, and the template shall not change hands for that.
func rivals(m *v1alpha1.RegistryMirrors, all []v1alpha1.RegistryMirrors, template *unstructured.Unstructured) (names []string) {
	for _, other := range all {
		if other.Name != m.Name && other.DeletionTimestamp.IsZero() && selects(other.Spec.Templates, template) {
			names = append(names, other.Name)
		}
	}
	slices.Sort(names)
	return names
}
