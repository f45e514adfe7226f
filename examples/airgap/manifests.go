package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// ownNamespace is the namespace that the manifests make. Any other can have Pods of
// others, which the restricted level would keep from being made again.
const ownNamespace = "pull-through-cache"

// deployment is how the caches run in a cluster.
type deployment struct {
	namespace string
	image     string
	service   string // NodePort or LoadBalancer
	storage   string // of each store
	tlsSecret string // of type kubernetes.io/tls, when the cache speaks https
	cilium    bool
	nodeCIDRs []string
	fqdns     []string

	annotations []string // "KEY=VALUE", of the Services
}

var (
	label    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	name     = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	annotate = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
	quantity = regexp.MustCompile(`^[1-9][0-9]{0,14}(Mi|Gi|Ti|M|G|T)?$`)
)

func (d deployment) check(https bool, ports map[string]int) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !label.MatchString(d.namespace) {
		wrong("--namespace: %q is no name (want lower case letters, digits and -, 63 at most)", d.namespace)
	}
	if _, err := (mirrors.Set{}).PullOrder(d.image); err != nil {
		wrong("--cache-image: %w", err)
	}
	if !quantity.MatchString(d.storage) {
		wrong("--storage: %q is no size (want one such as 20Gi)", d.storage)
	}
	switch {
	case d.service != "NodePort" && d.service != "LoadBalancer":
		wrong("--service: %q is none (want NodePort or LoadBalancer)", d.service)
	case d.service == "NodePort":
		for _, upstream := range slices.Sorted(maps.Keys(ports)) {
			if p := ports[upstream]; p < 30000 || p > 32767 {
				wrong("--service: port %d of %s is no node port (want 30000 to 32767, or --service LoadBalancer)", p, upstream)
			}
		}
	}
	seen := map[string]bool{}
	for _, text := range d.annotations {
		key, _, ok := strings.Cut(text, "=")
		if !ok || !annotate.MatchString(key) {
			wrong("--service-annotation: %q is none (want KEY=VALUE, such as metallb.io/allow-shared-ip=caches)", text)
		} else if seen[key] {
			wrong("--service-annotation: %q is there twice", key)
		}
		seen[key] = true
	}
	// A Service has one selector, so each cache needs one; the nodes ask one host.
	if d.service == "LoadBalancer" && len(ports) > 1 && len(d.annotations) == 0 {
		wrong("--service-annotation: missing, and each of the %d Services would have an address of its own (want the annotation by which they share that of --cache: "+
			"metallb.io/allow-shared-ip=KEY with MetalLB, lbipam.cilium.io/sharing-key=KEY with Cilium)", len(ports))
	}
	switch {
	case https && d.tlsSecret == "":
		wrong("--tls-secret: missing, and the cache is to speak https (want the name of a Secret of type kubernetes.io/tls)")
	case !https && d.tlsSecret != "":
		wrong("--tls-secret: the cache speaks http (want --cache https://…)")
	case d.tlsSecret != "" && !name.MatchString(d.tlsSecret):
		wrong("--tls-secret: %q is no name", d.tlsSecret)
	}
	for _, text := range d.nodeCIDRs {
		if p, err := netip.ParsePrefix(text); err != nil || p.Masked() != p {
			wrong("--node-cidr: %q is no network (want one such as 192.0.2.0/24)", text)
		}
	}
	if !d.cilium && len(d.nodeCIDRs)+len(d.fqdns) > 0 {
		wrong("--node-cidr and --fqdn are for --cilium")
	}
	if d.cilium && ports != nil {
		if _, err := fqdns(slices.Sorted(maps.Keys(ports)), d.fqdns); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// object is a mapping with its keys in order: key, value, key, value.
func object(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		n.Content = append(n.Content, node(pairs[i]), node(pairs[i+1]))
	}
	return n
}

func list(values ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, v := range values {
		n.Content = append(n.Content, node(v))
	}
	return n
}

// node lets yaml.v3 write a value, so that text stays text.
func node(v any) *yaml.Node {
	if n, ok := v.(*yaml.Node); ok {
		return n
	}
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		panic(err) // strings, numbers and booleans only
	}
	return n
}

// manifests are the objects of all caches, in the order in which they can be created.
func (d deployment) manifests(ports map[string]int) ([]byte, error) {
	upstreams := slices.Sorted(maps.Keys(ports))
	hosts, err := fqdns(upstreams, d.fqdns)
	if err != nil && d.cilium {
		return nil, err
	}
	names := objectNames(upstreams)
	var objects []*yaml.Node
	if d.namespace == ownNamespace {
		objects = append(objects, object("apiVersion", "v1", "kind", "Namespace", "metadata", object("name", d.namespace,
			"labels", object("pod-security.kubernetes.io/enforce", "restricted"))))
	}
	for _, upstream := range upstreams {
		n := names[upstream]
		objects = append(objects, d.claim(n), d.deployment(n, upstream), d.serviceObject(n, ports[upstream]))
		if d.cilium {
			objects = append(objects, d.policy(n, upstream, hosts[upstream]))
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	for _, o := range objects {
		if err := enc.Encode(o); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), enc.Close()
}

// objectNames are names of at most 63 characters, a different one for each upstream.
// They do not begin with registry: the kubelet's variables of a Service of that name
// begin with REGISTRY_, which is where a registry looks for its configuration.
func objectNames(upstreams []string) map[string]string {
	names := map[string]string{}
	used := map[string]int{}
	for _, upstream := range upstreams {
		var b strings.Builder
		for _, r := range strings.ToLower(upstream) {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
				r = '-'
			}
			b.WriteRune(r)
		}
		names[upstream] = "cache-" + strings.Trim(b.String(), "-")
		used[names[upstream]]++
	}
	for upstream, n := range names {
		if used[n] > 1 || len(n) > 63 {
			sum := sha256.Sum256([]byte(upstream))
			names[upstream] = strings.TrimRight(n[:min(len(n), 63-9)], "-") + "-" + hex.EncodeToString(sum[:4])
		}
	}
	return names
}

func (d deployment) metadata(n string) *yaml.Node {
	return object("name", n, "namespace", d.namespace, "labels", labels(n))
}

func labels(n string) *yaml.Node {
	return object("app.kubernetes.io/name", "pull-through-cache", "app.kubernetes.io/instance", n)
}

func (d deployment) claim(n string) *yaml.Node {
	return object("apiVersion", "v1", "kind", "PersistentVolumeClaim", "metadata", d.metadata(n),
		"spec", object("accessModes", list("ReadWriteOnce"), "resources", object("requests", object("storage", d.storage))))
}

// storeDir and tlsDir are where the store and the certificate are mounted.
const (
	storeDir = "/var/lib/registry"
	tlsDir   = "/etc/registry-tls"
)

func (d deployment) deployment(n, upstream string) *yaml.Node {
	env := []any{
		object("name", "REGISTRY_PROXY_REMOTEURL", "value", "https://"+api(upstream)),
		// What was pulled stays for good. A registry removes it after a week (2.8 always, 3 without
		// this TTL), and can only where deletion is enabled. 2.8 ignores the TTL.
		object("name", "REGISTRY_PROXY_TTL", "value", "0"),
		object("name", "REGISTRY_STORAGE_DELETE_ENABLED", "value", "false"),
		object("name", "REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY", "value", storeDir),
		object("name", "REGISTRY_HTTP_ADDR", "value", ":5000"),
	}
	mounts := []any{object("name", "store", "mountPath", storeDir)}
	volumes := []any{object("name", "store", "persistentVolumeClaim", object("claimName", n))}
	scheme := "HTTP"
	if d.tlsSecret != "" {
		scheme = "HTTPS"
		env = append(env,
			object("name", "REGISTRY_HTTP_TLS_CERTIFICATE", "value", tlsDir+"/tls.crt"),
			object("name", "REGISTRY_HTTP_TLS_KEY", "value", tlsDir+"/tls.key"))
		mounts = append(mounts, object("name", "tls", "mountPath", tlsDir, "readOnly", true))
		volumes = append(volumes, object("name", "tls", "secret", object("secretName", d.tlsSecret)))
	}
	// The registry answers / without asking upstream.
	probe := func(pairs ...any) *yaml.Node {
		return object(append([]any{"httpGet", object("path", "/", "port", "http", "scheme", scheme), "timeoutSeconds", 5}, pairs...)...)
	}
	container := object("name", "registry", "image", d.image,
		"ports", list(object("name", "http", "containerPort", 5000)),
		"env", list(env...),
		"readinessProbe", probe("periodSeconds", 10),
		"livenessProbe", probe("periodSeconds", 20, "failureThreshold", 6),
		"resources", object("requests", object("cpu", "50m", "memory", "64Mi"), "limits", object("memory", "512Mi")),
		"securityContext", object("allowPrivilegeEscalation", false, "readOnlyRootFilesystem", true, "capabilities", object("drop", list("ALL"))),
		"volumeMounts", list(mounts...))
	pod := object("automountServiceAccountToken", false,
		"enableServiceLinks", false, // their variables may begin with REGISTRY_
		// A name with a dot is asked as it is first: the policy answers no other.
		"dnsConfig", object("options", list(object("name", "ndots", "value", "1"))),
		"securityContext", object("runAsNonRoot", true, "runAsUser", 65532, "runAsGroup", 65532, "fsGroup", 65532,
			"seccompProfile", object("type", "RuntimeDefault")),
		"containers", list(container), "volumes", list(volumes...))
	return object("apiVersion", "apps/v1", "kind", "Deployment", "metadata", d.metadata(n),
		"spec", object("replicas", 1, "strategy", object("type", "Recreate"), // one at a time writes to the store
			"selector", object("matchLabels", labels(n)),
			"template", object("metadata", object("labels", labels(n)), "spec", pod)))
}

func (d deployment) serviceObject(n string, port int) *yaml.Node {
	p := []any{"name", "http", "port", port, "targetPort", "http"}
	if d.service == "NodePort" {
		p = append(p, "nodePort", port)
	}
	metadata := d.metadata(n)
	if len(d.annotations) > 0 {
		var pairs []any
		for _, text := range d.annotations {
			key, value, _ := strings.Cut(text, "=")
			pairs = append(pairs, key, value)
		}
		metadata.Content = append(metadata.Content, node("annotations"), object(pairs...))
	}
	return object("apiVersion", "v1", "kind", "Service", "metadata", metadata,
		"spec", object("type", d.service, "selector", labels(n), "ports", list(object(p...))))
}

// policy lets the cache reach its upstream, and nodes the cache.
func (d deployment) policy(n, upstream string, hosts []string) *yaml.Node {
	var match []any
	for _, host := range hosts {
		if strings.Contains(host, "*") {
			match = append(match, object("matchPattern", host))
		} else {
			match = append(match, object("matchName", host))
		}
	}
	dns := object("toEndpoints", list(object("matchLabels", object("k8s:io.kubernetes.pod.namespace", "kube-system", "k8s:k8s-app", "kube-dns"))),
		"toPorts", list(object("ports", list(object("port", "53", "protocol", "ANY")), "rules", object("dns", list(match...)))))
	ports := []any{object("port", "443", "protocol", "TCP")} // redirections lead there
	if p := port(upstream); p != "443" {
		ports = append(ports, object("port", p, "protocol", "TCP"))
	}
	web := object("toFQDNs", list(match...), "toPorts", list(object("ports", list(ports...))))
	in := func(from string, what ...any) *yaml.Node {
		return object(from, list(what...), "toPorts", list(object("ports", list(object("port", "5000", "protocol", "TCP")))))
	}
	ingress := []any{in("fromEntities", "host", "remote-node")}
	if len(d.nodeCIDRs) > 0 {
		var cidrs []any
		for _, c := range d.nodeCIDRs {
			cidrs = append(cidrs, c)
		}
		ingress = append(ingress, in("fromCIDR", cidrs...))
	}
	return object("apiVersion", "cilium.io/v2", "kind", "CiliumNetworkPolicy", "metadata", d.metadata(n),
		"spec", object("endpointSelector", object("matchLabels", labels(n)), "egress", list(dns, web), "ingress", list(ingress...)))
}
