// Command airgap makes what a cluster needs that may pull through one cache and
// nowhere else, from the list of its images:
//
//	talosctl image default | go run ./examples/airgap --cache http://192.0.2.10 -f - --out airgap
//	go run ./examples/airgap --cache https://harbor.example.com --shape project ghcr.io/siderolabs/kubelet:v1.36.3
//
// The folder then has
//
//	registries.yaml                the mirrors.Set, with skipFallback for every upstream
//	merge.yaml                     the patch for a new machine
//	1-ensure.yaml 2-delete.yaml    the patches for any machine: all three in one call of
//	3-set.yaml                     talosctl patch machineconfig, again and again
//	caches.yaml                    a Deployment, a Service and a claim for each upstream, for a
//	                               cache with a port for each (CNCF distribution, registry:2);
//	                               with --cilium a policy for each
//	proof.txt                      where a node will ask for each image, by both of its pullers
//
// No result is written when mirrors.Set.AirGapped finds a way out for an image: the
// exit status is then 1, and standard error has each way with its reason. Without
// --out everything goes to standard output. Exit codes: 0 done; 1 a file or an image is
// wrong, or a pull would leave; 2 the call is wrong, be it a flag's value or a flag
// that does nothing beside the others.
//
// The logic is that of the packages mirrors and configpatch. What is proven is where
// nodes ask, not that the cache has the images. A node that is to run the cache
// itself cannot pull the cache's own image through it.
package main

import (
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// many is a flag that may be there several times.
type many []string

func (m *many) String() string     { return strings.Join(*m, ",") }
func (m *many) Set(s string) error { *m = append(*m, s); return nil }

// wrongCall is an error of the flags, not of what is read.
type wrongCall struct{ error }

func (w wrongCall) Unwrap() error { return w.error }

// called makes a wrongCall of an error that is there.
func called(err error) error {
	if err == nil {
		return nil
	}
	return wrongCall{err}
}

// idle names the flags that are there and do nothing.
func idle(flags *flag.FlagSet, c cache, caches bool) error {
	var errs []error
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "namespace", "cache-image", "service", "service-annotation", "storage", "tls-secret", "cilium", "node-cidr", "fqdn":
			switch {
			case f.Value.String() == "false":
			case c.shape == byProject || c.shape == byRepository:
				errs = append(errs, fmt.Errorf("--%s does nothing with --shape %s, for which there is no caches.yaml", f.Name, c.shape))
			case !caches:
				errs = append(errs, fmt.Errorf("--%s does nothing with --manifests=false", f.Name))
			}
		case "first-port":
			if c.shape == byProject || c.shape == byRepository {
				errs = append(errs, fmt.Errorf("--first-port does nothing with --shape %s", c.shape))
			} else if len(c.upstreams) > 0 {
				errs = append(errs, errors.New("--first-port does nothing with --upstream, which has the ports"))
			}
		}
		if f.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty", f.Name))
		}
	})
	for _, image := range flags.Args() {
		if strings.HasPrefix(image, "-") {
			errs = append(errs, fmt.Errorf("%s is behind an image, where no flag is read (want flags first)", image))
		}
	}
	return called(errors.Join(errs...))
}

// run is main without the process.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	say := func(format string, args ...any) {
		for _, line := range strings.Split(fmt.Sprintf(format, args...), "\n") {
			fmt.Fprintf(stderr, "airgap: %s\n", line)
		}
	}
	flags := flag.NewFlagSet("airgap", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: airgap --cache URL [flags] [-f FILE] [IMAGE…]")
		flags.PrintDefaults()
	}
	var (
		c        cache
		d        deployment
		from     = flags.String("f", "", "`file` with an image a line and # comments; - is standard input")
		caFile   = flags.String("ca", "", "`file` with the certificates that vouch for an https cache, as PEM")
		version  = flags.String("talos-version", "v1.13", "the older of client and node")
		out      = flags.String("out", "", "a new `folder` for the results (default: standard output)")
		caches   = flags.Bool("manifests", true, "with caches.yaml, where each upstream has a port")
		upstream many
		cidrs    many
		hosts    many
		form     string

		annotations many
	)
	flags.StringVar(&c.origin, "cache", "", "`URL` of the cache: scheme and host, with a port only where upstreams have paths")
	flags.StringVar(&form, "shape", string(byPort), "how the cache tells upstreams apart: port, project (Harbor) or repository (Nexus)")
	flags.IntVar(&c.firstPort, "first-port", 30500, "of the upstreams in alphabetical order")
	flags.Var(&upstream, "upstream", "`NAME=PORT` or NAME=PROJECT, repeated: the upstreams that the cache has (default: those of the images)")
	flags.StringVar(&d.namespace, "namespace", ownNamespace, "of the caches; another than the default has to be there, and caches.yaml leaves it as it is")
	flags.StringVar(&d.image, "cache-image", "docker.io/library/registry:2.8.3", "`image` of a registry (CNCF distribution 2.8 or 3)")
	flags.StringVar(&d.service, "service", "NodePort", "type of the Services: NodePort or LoadBalancer")
	flags.Var(&annotations, "service-annotation", "`KEY=VALUE` of each Service, repeated; two or more of type LoadBalancer need the one by which they share\n"+
		"an address, such as metallb.io/allow-shared-ip=caches (MetalLB) or lbipam.cilium.io/sharing-key=caches (Cilium)")
	flags.StringVar(&d.storage, "storage", "20Gi", "`size` of each store")
	flags.StringVar(&d.tlsSecret, "tls-secret", "", "`name` of a Secret of type kubernetes.io/tls, for an https cache")
	flags.BoolVar(&d.cilium, "cilium", false, "with a CiliumNetworkPolicy for each cache")
	flags.Var(&cidrs, "node-cidr", "`network` of nodes outside of the cluster of the caches, for --cilium; repeated")
	flags.Var(&hosts, "fqdn", "`UPSTREAM=HOST` that a cache may reach too, such as a CDN, for --cilium; repeated")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case c.origin == "":
		say("--cache is missing")
		return 2
	}
	c.shape, c.upstreams, d.nodeCIDRs, d.fqdns = shape(form), upstream, cidrs, hosts
	d.annotations = annotations

	images, imagesErr := gather(*from, stdin, flags.Args())
	ca, caErr := certificates(*caFile)
	c.ca = ca
	var files []file
	err := errors.Join(imagesErr, caErr)
	if err == nil {
		var warnings []string
		files, warnings, err = results(images, c, d, *version, *caches)
		for _, w := range warnings {
			say("warning: %s", w)
		}
	}
	err = errors.Join(idle(flags, c, *caches), err)
	if err == nil && *out != "" {
		err = writeFolder(*out, files)
	} else if err == nil {
		err = printAll(stdout, files)
	}
	if err != nil {
		say("%v", err)
		if errors.As(err, new(wrongCall)) {
			return 2
		}
		return 1
	}
	return 0
}

// certificates are those of a file, where there is one.
func certificates(file string) (mirrors.PEM, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--ca: %w", err)
	}
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return "", fmt.Errorf("--ca: no certificate in %s (want PEM, as of BEGIN CERTIFICATE)", file)
		} else if block.Type == "CERTIFICATE" {
			return mirrors.PEM(text), nil
		}
	}
}

func gather(from string, stdin io.Reader, args []string) (images []image, err error) {
	var text []byte
	switch from {
	case "":
	case "-":
		from = "standard input"
		text, err = io.ReadAll(stdin)
	default:
		text, err = os.ReadFile(from)
	}
	images = readImages(from, string(text))
	for i, reference := range args {
		images = append(images, image{place: fmt.Sprintf("argument %d", i+1), reference: reference})
	}
	return images, err
}

// results makes all files. The error has all that is wrong with the images and
// the caches, or each way on which a pull would leave.
func results(listed []image, c cache, d deployment, talos string, caches bool) (files []file, warnings []string, err error) {
	images, warnings, imagesErr := resolve(listed, c.host())
	version, versionErr := configpatch.ParseVersion(talos)
	var (
		set   mirrors.Set
		ports map[string]int
		caErr error
	)
	callErr := c.check()
	if len(images)+len(c.upstreams) > 0 {
		var err error
		if set, ports, err = c.set(registriesOf(images)); err == nil {
			set, caErr = c.trust(set)
		}
		callErr = errors.Join(callErr, err)
	}
	caches = caches && c.shape == byPort
	if caches {
		callErr = errors.Join(callErr, d.check(c.https(), ports))
	}
	if err := errors.Join(imagesErr, caErr, called(errors.Join(versionErr, callErr))); err != nil {
		return nil, warnings, err
	}
	for _, f := range set.Check() {
		warnings = append(warnings, fmt.Sprintf("%s [%s]", f, f.Rule))
	}

	proof, err := prove(set, images)
	if err != nil {
		return nil, warnings, err
	}
	// What is wrong here is the version: the Set is a checked one.
	merge, err := configpatch.Merge(set, version)
	if err != nil {
		return nil, warnings, called(err)
	}
	replacement, err := configpatch.Replace(set, version)
	if err != nil {
		return nil, warnings, called(err)
	}
	for _, f := range replacement.Warnings {
		// The one of every Set, with an option of the Go API for its remedy: the README has it.
		if strings.Contains(f.Message, "without a v1alpha1 document") {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s [%s]", f, f.Rule))
	}
	registries, err := yaml.Marshal(set)
	if err != nil {
		return nil, warnings, err
	}
	files = []file{{"registries.yaml", registries}, {"merge.yaml", merge.Bytes()}}
	for _, p := range replacement.Patches {
		files = append(files, file{p.Name(), p.Bytes()})
	}
	if caches {
		text, err := d.manifests(ports)
		if err != nil {
			return nil, warnings, err
		}
		files = append(files, file{"caches.yaml", text})
	}
	return append(files, file{"proof.txt", proof}), warnings, nil
}

// prove says where a node asks for each image. The error has each way out.
func prove(set mirrors.Set, images []image) ([]byte, error) {
	references := make([]string, len(images))
	for i, im := range images {
		references[i] = im.reference
	}
	leaks, err := set.AirGapped(references)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, l := range leaks {
		errs = append(errs, fmt.Errorf("%s: %s would ask %s: %s [%s]", l.Image, l.Puller, l.URL, l.Reason, l.Rule))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	orders, err := set.PullOrders(references)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d images; a node asks nothing but the cache for them\n", len(images))
	for _, o := range orders {
		var urls []string
		for _, a := range o.Containerd {
			urls = append(urls, a.URL)
		}
		fmt.Fprintf(&b, "%s\t%s\n", o.Image, strings.Join(urls, " "))
	}
	return []byte(b.String()), nil
}
