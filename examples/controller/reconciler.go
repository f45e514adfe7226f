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

// again is after how long a template is tried again that the API server refused:
// what refuses it is not watched.
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
	if errors.Is(err, errStale) {
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	if err != nil || !controllerutil.ContainsFinalizer(&m, Finalizer) { // without it, the object is gone
		return result, err
	}
	m.Status.ObservedGeneration = m.Generation
	if !equality.Semantic.DeepEqual(before.Status, m.Status) {
		base := m.DeepCopy()
		base.Status = before.Status
		err = client.IgnoreNotFound(r.Status().Patch(ctx, &m, client.MergeFrom(base), fieldOwner))
	}
	return result, said(err)
}

// outcome is what became of one template; err is nil for a good one. It is not
// an error of the controller: the condition has it.
type outcome struct {
	name string
	err  error
}

// converge writes the spec to every template that it selects, and removes it from
// those that it no longer selects.
func (r *Reconciler) converge(ctx context.Context, m *v1alpha1.RegistryMirrors) (result ctrl.Result, err error) {
	if !controllerutil.ContainsFinalizer(m, Finalizer) {
		original := m.DeepCopy()
		controllerutil.AddFinalizer(m, Finalizer)
		if err := r.Patch(ctx, m, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
			return result, unlessStale(err)
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
			conflicts = append(conflicts, fmt.Sprintf("%s: selected by RegistryMirrors %s too; it keeps what it has", template.GetName(), strings.Join(others, ", ")))
		case selects(m.Spec.Templates, template):
			refused, err := r.write(ctx, template, desired.Converge)
			if err != nil {
				return result, unlessStale(err)
			}
			outcomes = append(outcomes, outcome{template.GetName(), refused})
		case len(others) > 0: // theirs now
		default:
			refused, err := r.write(ctx, template, func(t talosconfigtemplate.Template) (talosconfigtemplate.Template, error) { return t.Remove(m.Name) })
			if err != nil {
				return result, unlessStale(err)
			}
			if refused != nil {
				outcomes = append(outcomes, outcome{template.GetName(), fmt.Errorf("not selected any more, and not removed from it: %w", refused)})
			}
		}
	}
	for _, name := range m.Spec.Templates.Names {
		if !slices.ContainsFunc(templates, func(t *unstructured.Unstructured) bool { return t.GetName() == name }) {
			outcomes = append(outcomes, outcome{name, errors.New("there is no TalosConfigTemplate of this name")})
		}
	}
	return report(m, outcomes, conflicts), nil
}

// report sets Ready.
func report(m *v1alpha1.RegistryMirrors, outcomes []outcome, conflicts []string) (result ctrl.Result) {
	good, lines := 0, conflicts
	for _, o := range outcomes {
		if o.err == nil {
			good++
			continue
		}
		for _, line := range strings.Split(o.err.Error(), "\n") {
			lines = append(lines, o.name+": "+line)
		}
		if refusal := (*refusal)(nil); errors.As(o.err, &refusal) {
			result.RequeueAfter = again
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
	return result
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
	var lines []string
	for _, template := range templates {
		refused, err := r.write(ctx, template, func(t talosconfigtemplate.Template) (talosconfigtemplate.Template, error) { return t.Remove(m.Name) })
		if err != nil {
			return result, unlessStale(err)
		}
		if refused != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", template.GetName(), refused))
		}
	}
	if len(lines) > 0 {
		conclude(m, v1alpha1.Ready, false, v1alpha1.ReasonDeleting, message(append([]string{"not removed yet from:"}, lines...)...))
		return ctrl.Result{RequeueAfter: again}, nil
	}
	original := m.DeepCopy()
	controllerutil.RemoveFinalizer(m, Finalizer)
	err = r.Patch(ctx, m, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}), fieldOwner)
	return result, unlessStale(client.IgnoreNotFound(err))
}

// write changes one template, where there is something to change. What is wrong
// with the template, or refused by the server, is refused; err is for all else.
func (r *Reconciler) write(ctx context.Context, template *unstructured.Unstructured,
	change func(talosconfigtemplate.Template) (talosconfigtemplate.Template, error)) (refused, err error) {
	if template.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	was, refused := talosconfigtemplate.Read(template.Object)
	if refused != nil {
		return refused, nil
	}
	next, refused := change(was)
	if refused != nil || next.Equal(was) {
		return refused, nil
	}
	object := template.DeepCopy()
	if refused := next.Write(object.Object); refused != nil {
		return refused, nil
	}
	// The list is one value to the API server, whoever sends it and however. The
	// resource version sees to it that nothing is lost that came in between.
	err = r.Patch(ctx, object, client.MergeFromWithOptions(template, client.MergeFromWithOptimisticLock{}), fieldOwner)
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info("changed a TalosConfigTemplate", "name", template.GetName())
		return nil, nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		return &refusal{said(err)}, nil
	}
	return nil, err
}

// refusal is a change that the API server did not accept, and may accept later.
type refusal struct{ error }

// Unwrap returns what the server said.
func (r *refusal) Unwrap() error { return r.error }

var gate = regexp.MustCompile(`admission webhook "[^"\s]+"|ValidatingAdmissionPolicy '[^'\s]+'`)

// said is an error of the API server without what it quotes, which may be a
// whole template, with all its secrets.
func said(err error) error {
	status := apierrors.APIStatus(nil)
	if err == nil || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	text := "the API server refuses it: " + cmp.Or(string(s.Reason), "no reason given")
	if by := gate.FindString(s.Message); by != "" {
		text += ", by " + by
	}
	if strings.HasSuffix(s.Message, " is immutable") { // the bootstrap provider's webhook, in these words
		text += ": spec is immutable (the webhook must exempt this controller)"
	}
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			text += fmt.Sprintf("; %s: %s", cause.Field, cause.Type)
		}
	}
	return errors.New(text)
}

// errStale ends a round without a report; the next one has fresh objects.
var errStale = errors.New("an object has changed meanwhile")

// unlessStale is what the API server said, or errStale.
func unlessStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
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

// rivals are the others that select a template, by name. One that is being deleted is none.
func rivals(m *v1alpha1.RegistryMirrors, all []v1alpha1.RegistryMirrors, template *unstructured.Unstructured) (names []string) {
	for _, other := range all {
		if other.Name != m.Name && other.DeletionTimestamp.IsZero() && selects(other.Spec.Templates, template) {
			names = append(names, other.Name)
		}
	}
	slices.Sort(names)
	return names
}
