package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
)

// rig is an API server with both CRDs, and the manager at work in this process,
// with the rights of config/rbac.yaml and no others.
type rig struct {
	cluster *servers.Cluster
	client  client.Client // of the administrator, without a cache
	stop    context.CancelFunc
	ended   chan error
	asked   recorder // what the manager asked the server
	logged  logbook
}

// namespaces are those of the tests: the manager is told of all at its start.
var namespaces = []string{"converge", "appear", "secrets", "invalid", "conflict", "foreign", "immutable", "rights", "admission", "unreachable"}

var (
	once    sync.Once
	shared  *rig
	problem error
)

// asController makes the test binary the command itself, for TestCommand.
const asController = "MIRRORPATCH_TEST_AS_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(asController) == "1" {
		main()
		os.Exit(0)
	}
	code := m.Run()
	if shared != nil {
		shared.stop()
		if err := <-shared.ended; err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, "the manager ended:", err)
			code = 1
		}
		shared.cluster.Stop()
	}
	os.Exit(code)
}

func start(t *testing.T) *rig {
	t.Helper()
	once.Do(func() { shared, problem = launch() })
	if problem != nil {
		servers.End(t, problem)
	}
	return shared
}

func launch() (r *rig, err error) {
	crd, err := servers.CRD()
	if err != nil {
		return nil, err
	}
	cluster, err := servers.StartCluster()
	if err != nil {
		return nil, err
	}
	r = &rig{cluster: cluster, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			cluster.Stop()
		}
	}()
	for _, file := range []string{crd, "config/crd.yaml"} {
		if err := cluster.Install(file); err != nil {
			return nil, err
		}
	}
	for _, namespace := range namespaces {
		if err := r.kubectl("create", "namespace", namespace); err != nil {
			return nil, err
		}
	}
	if err := r.kubectl("apply", "-f", "config/rbac.yaml"); err != nil {
		return nil, err
	}
	for _, namespace := range namespaces {
		if err := r.bind(namespace); err != nil {
			return nil, err
		}
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if r.client, err = client.New(r.config(cluster.Token), client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}

	ctrl.SetLogger(logr.FromSlogHandler(r.logged.handler()))
	token, err := cluster.AccountToken("mirrorpatch-system", "mirrorpatch-controller")
	if err != nil {
		return nil, err
	}
	config := r.config(token)
	config.Wrap(r.asked.wrap)
	mgr, err := NewManager(config, Options{Namespaces: namespaces, ProbeAddress: "127.0.0.1:0", MetricsAddress: "0", LeaderElection: true, LeaderElectionNamespace: "mirrorpatch-system"})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.ended <- mgr.Start(ctx) }()
	return r, nil
}

func (r *rig) config(token string) *rest.Config {
	return &rest.Config{Host: r.cluster.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: r.cluster.CAFile}, QPS: 500, Burst: 500}
}

// kubectl runs it as the administrator.
func (r *rig) kubectl(args ...string) error {
	if result := r.cluster.Kubectl(r.cluster.Kubeconfig, nil, args...); result.Exit != 0 {
		return fmt.Errorf("kubectl %q: %s", args, result.Stderr)
	}
	return nil
}

func (r *rig) bind(namespace string) error {
	return r.kubectl("create", "rolebinding", "mirrorpatch-controller", "-n", namespace, "--clusterrole=mirrorpatch-controller", "--serviceaccount=mirrorpatch-system:mirrorpatch-controller")
}

// logbook keeps what the manager logs.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write keeps a line.
func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// recorder notes the verb and the resource of each request, and what was refused.
type recorder struct {
	mu      sync.Mutex
	verbs   map[string]bool // "patch talosconfigtemplates"
	denied  []string
	patches map[string]int // of templates, by namespace/name
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		verb, resource, name := asked(request)
		r.mu.Lock()
		defer r.mu.Unlock()
		if resource != "" {
			if r.verbs == nil {
				r.verbs, r.patches = map[string]bool{}, map[string]int{}
			}
			r.verbs[verb+" "+resource] = true
			if verb == "patch" && strings.HasPrefix(resource, "talosconfigtemplates.") {
				r.patches[name]++
			}
			if err == nil && response.StatusCode == http.StatusForbidden && !strings.Contains(name, "immutable/") {
				r.denied = append(r.denied, verb+" "+resource)
			}
		}
		return response, err
	})
}

// asked tells the verb, the resource with its group, and namespace/name of a
// request; no resource for what is about none.
func asked(request *http.Request) (verb, resource, name string) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	i := slices.Index(parts, "namespaces")
	if i < 0 || len(parts) < i+3 {
		if len(parts) > 3 || parts[0] == "api" && len(parts) > 2 {
			return request.Method, strings.Join(parts, "/"), "" // of the whole cluster: no test wants one
		}
		return "", "", ""
	}
	group, rest := "", parts[i+2:]
	if parts[0] == "apis" {
		group = parts[1]
	}
	resource = rest[0]
	if len(rest) > 2 {
		resource += "/" + rest[2]
	}
	verb = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[request.Method]
	if len(rest) > 1 {
		name = parts[i+1] + "/" + rest[1]
	} else if verb == "get" {
		verb = "list"
		if request.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	return verb, resource + "." + group, name
}

func (r *recorder) patched(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.patches[name]
}

// eventually waits until f finds nothing wrong.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	deadline := time.Now().Add(servers.Patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still, after %s: %v", servers.Patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// condition waits for a condition of the present generation and returns it.
func (r *rig) condition(t *testing.T, m *v1alpha1.RegistryMirrors, kind, reason string) (found metav1.Condition) {
	t.Helper()
	eventually(t, func() error {
		var now v1alpha1.RegistryMirrors
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(m), &now); err != nil {
			return err
		}
		c := meta.FindStatusCondition(now.Status.Conditions, kind)
		if c == nil || c.ObservedGeneration != now.Generation || now.Status.ObservedGeneration != now.Generation || c.Reason != reason {
			return fmt.Errorf("want %s, %s of generation %d; there is %+v", kind, reason, now.Generation, now.Status)
		}
		found = *c
		return nil
	})
	return found
}

func (r *rig) create(t *testing.T, object client.Object) {
	t.Helper()
	require.NoError(t, r.client.Create(t.Context(), object))
}

// change changes an object, whatever the manager does to it meanwhile.
func change[T client.Object](t *testing.T, r *rig, object T, f func(T)) {
	t.Helper()
	eventually(t, func() error {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		f(object)
		err := r.client.Update(t.Context(), object)
		if apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
		return err
	})
}

// template makes a TalosConfigTemplate.
func template(version, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bootstrap.cluster.x-k8s.io/" + version, "kind": "TalosConfigTemplate",
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"registries": "cache"}},
		"spec":     map[string]any{"template": map[string]any{"spec": spec}},
	}}
}

func (r *rig) read(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(object.GroupVersionKind())
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(object), now))
	return now
}

func patchesOf(object *unstructured.Unstructured) []string {
	patches, _, err := unstructured.NestedStringSlice(object.Object, "spec", "template", "spec", "strategicPatches")
	if err != nil {
		panic(err)
	}
	return patches
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.CredentialsLabel: "true"}}, StringData: data}
}
