package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
)

// templateKind is that of the bootstrap provider for Talos.
var templateKind = schema.GroupKind{Group: "bootstrap.cluster.x-k8s.io", Kind: "TalosConfigTemplate"}

// Options are what the flags say.
type Options struct {
	Namespaces     []string // at least one
	ProbeAddress   string   // of /healthz and /readyz; "0" for none
	MetricsAddress string   // "0" for none

	LeaderElection          bool
	LeaderElectionNamespace string // empty: where the controller runs
}

// NewManager returns a manager with the reconciler in it. It needs the CRD of
// TalosConfigTemplate, of which it takes the version that the server prefers.
func NewManager(config *rest.Config, options Options) (manager.Manager, error) {
	if len(options.Namespaces) == 0 {
		return nil, fmt.Errorf("no namespace to work in")
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	namespaces := map[string]cache.Config{}
	for _, namespace := range options.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultNamespaces: namespaces,
			DefaultTransform:  cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{v1alpha1.CredentialsLabel: "true"})},
			},
		},
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                       server.Options{BindAddress: options.MetricsAddress},
		HealthProbeBindAddress:        options.ProbeAddress,
		LeaderElection:                options.LeaderElection,
		LeaderElectionID:              "mirrorpatch-controller",
		LeaderElectionNamespace:       options.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, err
	}
	mapping, err := mgr.GetRESTMapper().RESTMapping(templateKind)
	if err != nil {
		return nil, fmt.Errorf("the CRD of %s: %w", templateKind, err)
	}
	r := &Reconciler{Client: mgr.GetClient(), Templates: mapping.GroupVersionKind}

	template := &unstructured.Unstructured{}
	template.SetGroupVersionKind(r.Templates)
	all := handler.EnqueueRequestsFromMapFunc(r.ofNamespace)
	if err := ctrl.NewControllerManagedBy(mgr).
		Named("registrymirrors").
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, again)}).
		For(&v1alpha1.RegistryMirrors{}).
		Watches(&v1alpha1.RegistryMirrors{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})). // a rival comes or goes; a deletion has a generation
		Watches(template, all).
		Watches(&corev1.Secret{}, all).
		Complete(r); err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("caches", func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return fmt.Errorf("not synced")
		}
		return nil
	})
}

// ofNamespace returns all RegistryMirrors of an object's namespace. There are few,
// and one that has nothing to do reads only the cache.
func (r *Reconciler) ofNamespace(ctx context.Context, object client.Object) (requests []reconcile.Request) {
	var list v1alpha1.RegistryMirrorsList
	if err := r.List(ctx, &list, client.InNamespace(object.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(said(err), "cannot list RegistryMirrors")
		return nil
	}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
