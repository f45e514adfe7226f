package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// image is one of the list, and where it stands.
type image struct {
	place     string // "images.txt:3" or "argument 1"
	reference string
	registry  string
}

// readImages takes an image from each line, as `talosctl image default` prints
// them. Empty lines, and what stands behind a # at the start of a line or after a blank, are left out.
func readImages(name, text string) []image {
	var images []image
	text = strings.TrimPrefix(text, "\ufeff") // as editors of Windows begin a file
	for i, line := range strings.Split(text, "\n") {
		for j := range line {
			if line[j] == '#' && (j == 0 || line[j-1] == ' ' || line[j-1] == '\t') {
				line = line[:j]
				break
			}
		}
		if line = strings.TrimSpace(line); line != "" {
			images = append(images, image{place: fmt.Sprintf("%s:%d", name, i+1), reference: line})
		}
	}
	return images
}

// resolve finds the registry of each image, and leaves out what is there twice,
// with a warning. The error names each that cannot be pulled through a cache at host.
func resolve(images []image, host string) (unique []image, warnings []string, err error) {
	var errs []error
	first := map[string]string{}
	for _, im := range images {
		order, err := mirrors.Set{}.PullOrder(im.reference)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", im.place, err))
			continue
		}
		im.registry = order.Registry
		if err := checkRegistry(im); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", im.place, err))
			continue
		}
		if place, ok := first[im.reference]; ok {
			warnings = append(warnings, fmt.Sprintf("%s: %q is there already, at %s", im.place, im.reference, place))
			continue
		}
		first[im.reference] = im.place
		switch name := hostname(im.registry); {
		case name == "localhost" || net.ParseIP(name).IsLoopback():
			errs = append(errs, fmt.Errorf("%s: %q is at the node itself, which no cache can ask (want the registry that it was pushed to)", im.place, im.reference))
		case name == host:
			errs = append(errs, fmt.Errorf("%s: %q is at the cache itself (want the reference that it has upstream)", im.place, im.reference))
		}
		unique = append(unique, im)
	}
	if len(images) == 0 {
		errs = append(errs, errors.New("there is no image (want references in -f FILE or as arguments)"))
	}
	return unique, warnings, errors.Join(errs...)
}

// checkRegistry finds what is wrong with an image's registry. That of "ghcr.io" is
// docker.io, as for nginx: whoever wrote it means something else.
func checkRegistry(im image) error {
	if im.registry == "" {
		host, _, _ := strings.Cut(im.reference, "/")
		return fmt.Errorf("%q has no registry, since %q is no name of a host (want one such as ghcr.io/NAME)", im.reference, host)
	}
	if name, _, _ := strings.Cut(im.reference, ":"); !strings.Contains(im.reference, "/") && strings.Contains(name, ".") {
		return fmt.Errorf("%q is the image docker.io/library/%[1]s, and has a registry's name (want that in full where it is meant, or the image behind the registry)", im.reference)
	}
	_, err := mirrors.CachePerPort("http://cache.internal", map[string]int{im.registry: 5000}, true)
	var wrong *mirrors.Error
	if errors.As(err, &wrong) { // its place is one in a Set, which nobody wrote here
		f := wrong.Findings[0]
		return fmt.Errorf("%q: %s (%s)", im.reference, f.Message, strings.Replace(f.Fix, "want the key", "want the registry", 1))
	}
	return err
}

// hostname is a registry without its port, in one of the ways to write it: without the
// dot at the end, in lower case, an address in its short form.
func hostname(registry string) string {
	name := strings.Trim(registry, "[]")
	if host, _, err := net.SplitHostPort(registry); err == nil {
		name = host
	}
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}
