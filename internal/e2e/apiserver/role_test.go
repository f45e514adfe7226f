package apiserver_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// simple is a Job with no inputs.
func simple(t *testing.T, namespace string) reconcile.Job {
	t.Helper()
	return reconcile.Job{Template: reconcile.Template{
		Name: "md0", Namespace: namespace, TalosVersion: "v1.13", StrategicPatches: merge(t, set, "v1.13"),
	}}
}

// full is a Job with inputs of each kind, one of them in another namespace.
func full(t *testing.T, namespace, elsewhere string) reconcile.Job {
	t.Helper()
	j := simple(t, namespace)
	j.Template.Skeleton, j.Template.Inputs = skeleton, inputs()
	j.Template.Tries = 1
	for i, in := range j.Template.Inputs {
		if f, ok := in.From.(reconcile.FromJSONPath); ok {
			f.Namespace = elsewhere
			j.Template.Inputs[i].From = f
		}
	}
	return j
}

// rights are what a ServiceAccount may do in a namespace, beyond what one
// without a Role may: "verbs of resource.group name", sorted.
func (c cluster) rights(t *testing.T, kubeconfig, namespace string) (rights []string) {
	t.Helper()
	review := c.post(t, kubeconfig, "selfsubjectrulesreviews", map[string]any{"namespace": namespace})
	var r struct {
		Status struct {
			Incomplete    bool
			ResourceRules []struct{ Verbs, APIGroups, Resources, ResourceNames []string }
		}
	}
	if err := json.Unmarshal(review, &r); err != nil || r.Status.Incomplete {
		t.Fatalf("%v, or incomplete: %s", err, review)
	}
	for _, rule := range r.Status.ResourceRules {
		slices.Sort(rule.Verbs)
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				right := strings.Join(rule.Verbs, ",") + " of " + strings.TrimSuffix(resource+"."+group, ".")
				if len(rule.ResourceNames) == 0 {
					rights = append(rights, right)
				}
				for _, name := range rule.ResourceNames {
					rights = append(rights, right+" "+name)
				}
			}
		}
	}
	slices.Sort(rights)
	return rights
}

// may asks whether the ServiceAccount may do one thing.
func (c cluster) may(t *testing.T, kubeconfig string, attributes map[string]any) bool {
	t.Helper()
	var r struct {
		Status struct {
			Allowed         bool
			EvaluationError string
		}
	}
	review := c.post(t, kubeconfig, "selfsubjectaccessreviews", map[string]any{"resourceAttributes": attributes})
	if err := json.Unmarshal(review, &r); err != nil || r.Status.EvaluationError != "" {
		t.Fatalf("%v, or %s", err, review)
	}
	return r.Status.Allowed
}

// post has the server review a question of the one whose kubeconfig it is.
func (c cluster) post(t *testing.T, kubeconfig, resource string, spec map[string]any) []byte {
	t.Helper()
	kinds := map[string]string{"selfsubjectrulesreviews": "SelfSubjectRulesReview", "selfsubjectaccessreviews": "SelfSubjectAccessReview"}
	body, err := json.Marshal(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": kinds[resource], "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.client(t, kubeconfig).Post(c.URL+"/apis/authorization.k8s.io/v1/"+resource, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(response.Body); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("%v, %s: %s", err, response.Status, out.Bytes())
	}
	return out.Bytes()
}

// client speaks for the one whose kubeconfig it is.
func (c cluster) client(t *testing.T, kubeconfig string) *http.Client {
	t.Helper()
	var config struct {
		Users []struct{ User struct{ Token string } }
	}
	text, err := os.ReadFile(kubeconfig)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Client(config.Users[0].User.Token)
}

// places are where a Job can be, and whose rights it can have.
var places = map[string]struct{ jobElsewhere, accountIsThere bool }{
	"beside":          {false, false},
	"apart":           {true, false},
	"beside-existing": {false, true},
	"apart-existing":  {true, true},
}

// place puts a Job there. The ServiceAccount that is there has no rights yet.
func (c cluster) place(t *testing.T, j reconcile.Job, name string) reconcile.Job {
	t.Helper()
	where := places[name]
	namespace := j.Template.Namespace
	if where.jobElsewhere {
		namespace += "-job"
		j.Namespace = namespace
		c.namespace(t, namespace)
		c.provide(t, namespace)
	}
	if where.accountIsThere {
		j.ServiceAccount = "robot"
		c.must(t, nil, "create", "serviceaccount", j.ServiceAccount, "-n", namespace)
	}
	return j
}

// TestRole: the ServiceAccount may do what the script does, and nothing else,
// and no other ServiceAccount may do it.
func TestRole(t *testing.T) {
	c := start(t)
	asked := 0
	for place := range places {
		t.Run(place, func(t *testing.T) { asked += c.testRole(t, place) })
	}
	verdict.Proved(t, "in %d places of a Job its ServiceAccount may do what the script does, and nothing else of %d things that were asked; its namesakes may do nothing", len(places), asked)
}

func (c cluster) testRole(t *testing.T, place string) (asked int) {
	namespace, elsewhere, third := "role-"+place, "role-"+place+"-elsewhere", "role-"+place+"-third"
	for _, n := range []string{namespace, elsewhere, third} {
		c.namespace(t, n)
		c.provide(t, n)
	}
	const templates = "talosconfigtemplates.bootstrap.cluster.x-k8s.io"
	j := c.place(t, full(t, namespace, elsewhere), place)
	_, made := c.deploy(t, j)
	box := c.container(t, made)
	if r := box.run(shellOf(t, "dash")); r.Exit != 0 {
		t.Fatalf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
	}

	home := made.Metadata.Namespace
	namespaces := []string{namespace, elsewhere, third}
	if home != namespace {
		namespaces = append(namespaces, home)
	}
	c.must(t, nil, "create", "serviceaccount", "nobody", "-n", home)
	others := []string{c.account(t, home, "nobody")}
	account := cmp.Or(j.ServiceAccount, "md0")
	for _, n := range namespaces { // its namesakes
		if n != home {
			c.must(t, nil, "create", "serviceaccount", account, "-n", n)
			others = append(others, c.account(t, n, account))
		}
	}
	want := map[string][]string{
		namespace: {"create of " + templates, "get of secrets talos", "get,patch of " + templates + " md0"},
		elsewhere: {"get of services api"},
	}
	for _, n := range namespaces {
		everybody := c.rights(t, others[0], n)
		for _, other := range others {
			if got := c.rights(t, other, n); !slices.Equal(got, everybody) || slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "secrets") || strings.Contains(r, "talos") }) {
				t.Errorf("in %s others may %q", n, got)
			}
		}
		got := slices.DeleteFunc(c.rights(t, box.kubeconfig, n), func(r string) bool { return slices.Contains(everybody, r) })
		if !slices.Equal(got, want[n]) {
			t.Errorf("in %s it may %q, want %q", n, got, want[n])
		}
	}

	// The same, asked one by one.
	allowed := []string{}
	for _, n := range append(namespaces, "") {
		for _, r := range []struct{ group, resource, subresource string }{
			{"bootstrap.cluster.x-k8s.io", "talosconfigtemplates", ""}, {"bootstrap.cluster.x-k8s.io", "talosconfigtemplates", "status"},
			{"bootstrap.cluster.x-k8s.io", "talosconfigs", ""},
			{"", "secrets", ""}, {"", "configmaps", ""}, {"", "services", ""}, {"", "services", "proxy"}, {"", "pods", ""}, {"", "pods", "exec"},
			{"", "serviceaccounts", "token"}, {"", "namespaces", ""}, {"", "nodes", ""}, {"batch", "jobs", ""}, {"rbac.authorization.k8s.io", "roles", ""}, {"rbac.authorization.k8s.io", "rolebindings", ""},
			{"rbac.authorization.k8s.io", "clusterroles", ""}, {"apiextensions.k8s.io", "customresourcedefinitions", ""},
		} {
			for _, name := range []string{"", "md0", "md1", "talos", "join", "api"} {
				for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "escalate", "bind", "impersonate"} {
					asked++
					if c.may(t, box.kubeconfig, map[string]any{"namespace": n, "group": r.group, "resource": r.resource, "subresource": r.subresource, "name": name, "verb": verb}) {
						allowed = append(allowed, fmt.Sprintf("%s: %s %s %s", n, verb, r.resource, name))
					}
				}
			}
		}
	}
	wantAllowed := []string{
		namespace + ": get talosconfigtemplates md0", namespace + ": patch talosconfigtemplates md0", namespace + ": get secrets talos", elsewhere + ": get services api",
	}
	for _, name := range []string{"", "md0", "md1", "talos", "join", "api"} { // no Role can narrow create by a name
		wantAllowed = append(wantAllowed, namespace+": create talosconfigtemplates "+name)
	}
	slices.Sort(allowed)
	slices.Sort(wantAllowed)
	if !slices.Equal(allowed, wantAllowed) {
		t.Errorf("of %d questions the server says yes to\n%s\nwant\n%s", asked, strings.Join(allowed, "\n"), strings.Join(wantAllowed, "\n"))
	}

	for _, args := range []string{"get secret join", "get secrets", "delete talosconfigtemplate md0", "get service api", "create token " + account, "get pods -A"} {
		r := c.Kubectl(box.kubeconfig, nil, append(strings.Fields(args), "-n", namespace)...)
		if r.Exit == 0 || !strings.Contains(strings.ToLower(r.Stderr), "forbidden") {
			t.Errorf("kubectl %s: exit code %d, %q", args, r.Exit, r.Stderr)
		}
	}
	return asked
}

// TestRoleIsNeeded: without any one verb of any rule the script fails: on a
// template that is not there, or on one that is another.
func TestRoleIsNeeded(t *testing.T) {
	c := start(t)
	type rule struct {
		APIGroups     []string `json:"apiGroups"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames,omitempty"`
		Verbs         []string `json:"verbs"`
	}
	total := 0
	needed := func(t *testing.T, place string, job func(*testing.T, string, string) reconcile.Job) {
		t.Run(place, func(t *testing.T) {
			namespace := strings.ToLower(strings.NewReplacer("TestRoleIsNeeded", "needed", "/", "-").Replace(t.Name()))
			elsewhere := namespace + "-elsewhere"
			c.namespace(t, namespace)
			c.namespace(t, elsewhere)
			c.provide(t, namespace)
			c.provide(t, elsewhere)
			_, made := c.deploy(t, c.place(t, job(t, namespace, elsewhere), place))
			box := c.container(t, made)

			// works runs the script twice: the template is not there, and it is another.
			works := func() (said string, ok bool) {
				t.Helper()
				c.must(t, nil, "delete", "talosconfigtemplates", "--all", "-n", namespace)
				if r := box.run(shellOf(t, "dash")); r.Exit != 0 {
					return r.Stderr, false
				}
				c.must(t, nil, "patch", "talosconfigtemplates.v1beta1.bootstrap.cluster.x-k8s.io", "md0", "-n", namespace, "--type=merge",
					"-p", `{"spec":{"template":{"spec":{"talosVersion":"v1.12"}}}}`)
				if r := box.run(shellOf(t, "dash")); r.Exit != 0 {
					return r.Stderr, false
				}
				if v := c.template(t, "v1beta1", namespace, "md0").Spec.Template.Spec.TalosVersion; v != "v1.13" {
					t.Fatalf("the script leaves talosVersion %q", v)
				}
				return "", true
			}
			if said, ok := works(); !ok {
				t.Fatal(said)
			}

			removed := 0
			for _, n := range []string{namespace, elsewhere} {
				var roles struct {
					Items []struct {
						Metadata struct{ Name string }
						Rules    []rule
					}
				}
				c.get(t, &roles, "roles", "-n", n)
				for _, role := range roles.Items {
					for i, r := range role.Rules {
						for _, verb := range r.Verbs {
							less := slices.Clone(role.Rules)
							less[i].Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == verb })
							if len(less[i].Verbs) == 0 {
								less = slices.Delete(less, i, i+1)
							}
							c.setRules(t, n, role.Metadata.Name, less)
							said, ok := works()
							if ok || !strings.Contains(said, "(Forbidden)") {
								t.Errorf("without %s of %s %s it works: %t, %s", verb, r.Resources, r.ResourceNames, ok, said)
							}
							c.setRules(t, n, role.Metadata.Name, role.Rules)
							removed++
						}
					}
				}
			}
			if said, ok := works(); !ok || removed < 2 {
				t.Errorf("%d verbs removed, and then: %s", removed, said)
			}
			total += removed
		})
	}
	for place := range places {
		needed(t, place, full)
	}
	t.Run("server-side", func(t *testing.T) {
		needed(t, "beside", func(t *testing.T, namespace, _ string) reconcile.Job {
			j := simple(t, namespace)
			j.Template.StrategicPatches = merge(t, large(), "v1.13")
			return j
		})
	})
	verdict.Proved(t, "in %d places of a Job, and when the template is applied on the server, the script is refused without any one of its rights: %d in all", len(places), total)
}

func (c cluster) setRules(t *testing.T, namespace, role string, rules any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, nil, "patch", "role", role, "-n", namespace, "--type=merge", "-p", string(text))
}
