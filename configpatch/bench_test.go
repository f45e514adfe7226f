//lint:file-ignore SA1019 Talos deprecates machine.registries, which is the legacy form.

package configpatch

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/types/cri"
	"github.com/siderolabs/talos/pkg/machinery/config/types/meta"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// benchSet has n mirrors of two endpoints each, credentials for every fourth
// host and a CA for every eighth.
func benchSet(b testing.TB, n int) mirrors.Set {
	ca, err := os.ReadFile("testdata/cert.pem")
	if err != nil {
		b.Fatal(err)
	}
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for i := range n {
		name, host := fmt.Sprintf("registry-%04d.example.com", i), fmt.Sprintf("cache-%04d.mirrors.internal:5000", i)
		set.Mirrors[name] = mirrors.Mirror{
			Endpoints:    []mirrors.Endpoint{{URL: "https://" + host + "/v2/proxy", OverridePath: true}, {URL: "https://second-" + host + "/v2", OverridePath: true}},
			SkipFallback: i%2 == 0,
		}
		if i%4 == 0 {
			c := mirrors.HostConfig{Auth: &mirrors.Auth{Username: "robot$mirror", Password: mirrors.NewSecret("made-up \"pass\" word")}}
			if i%8 == 0 {
				c.TLS = &mirrors.TLS{CA: mirrors.PEM(ca)}
			}
			set.Config[host] = c
		}
	}
	return set
}

// machineryLegacy and machineryDocuments are the Set as machinery has it.
func machineryLegacy(set mirrors.Set) (*container.Container, error) {
	r := v1alpha1.RegistriesConfig{RegistryMirrors: map[string]*v1alpha1.RegistryMirrorConfig{}, RegistryConfig: map[string]*v1alpha1.RegistryConfig{}}
	for name, m := range set.Mirrors {
		out := &v1alpha1.RegistryMirrorConfig{MirrorOverridePath: new(true), MirrorSkipFallback: &m.SkipFallback}
		for _, e := range m.Endpoints {
			out.MirrorEndpoints = append(out.MirrorEndpoints, e.URL)
		}
		r.RegistryMirrors[name] = out
	}
	for host, c := range set.Config {
		out := &v1alpha1.RegistryConfig{RegistryAuth: &v1alpha1.RegistryAuthConfig{RegistryUsername: c.Auth.Username, RegistryPassword: c.Auth.Password.Reveal()}}
		if c.TLS != nil {
			out.RegistryTLS = &v1alpha1.RegistryTLSConfig{TLSCA: v1alpha1.Base64Bytes(c.TLS.CA)}
		}
		r.RegistryConfig[host] = out
	}
	return container.New(&v1alpha1.Config{MachineConfig: &v1alpha1.MachineConfig{MachineRegistries: r}})
}

func machineryDocuments(set mirrors.Set) (*container.Container, error) {
	var docs []talosconfig.Document
	for _, name := range sortedKeys(set.Mirrors, nil) {
		d := cri.NewRegistryMirrorConfigV1Alpha1(name)
		for _, e := range set.Mirrors[name].Endpoints {
			u, err := url.Parse(e.URL)
			if err != nil {
				return nil, err
			}
			d.RegistryEndpoints = append(d.RegistryEndpoints, cri.RegistryEndpoint{EndpointURL: meta.URL{URL: u}, EndpointOverridePath: &e.OverridePath})
		}
		if set.Mirrors[name].SkipFallback {
			d.RegistrySkipFallback = new(true)
		}
		docs = append(docs, d)
	}
	for _, host := range sortedKeys(set.Config, nil) {
		auth := cri.NewRegistryAuthConfigV1Alpha1(host)
		auth.RegistryUsername, auth.RegistryPassword = set.Config[host].Auth.Username, set.Config[host].Auth.Password.Reveal()
		docs = append(docs, auth)
		if set.Config[host].TLS != nil {
			tls := cri.NewRegistryTLSConfigV1Alpha1(host)
			tls.TLSCA = string(set.Config[host].TLS.CA)
			docs = append(docs, tls)
		}
	}
	return container.New(docs...)
}

// BenchmarkRender is the making of a patch's bytes out of a Set, and beside it
// what the same costs through machinery's encoder, without comments, which is
// the faster way, from values that exist already.
func BenchmarkRender(b *testing.B) {
	for _, form := range []Form{Legacy, Documents} {
		for _, n := range []int{10, 100, 1000} {
			set := benchSet(b, n)
			b.Run(fmt.Sprintf("%s/%d/render", form, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					render(set, form)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/mirror")
			})
			b.Run(fmt.Sprintf("%s/%d/machinery", form, n), func(b *testing.B) {
				c, err := machineryLegacy(set)
				if form == Documents {
					c, err = machineryDocuments(set)
				}
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkMerge is rendering with its proof, which costs what machinery costs.
func BenchmarkMerge(b *testing.B) {
	v := Version{major: 1, minor: 13}
	for _, form := range []Form{Legacy, Documents} {
		for _, n := range []int{10, 100, 1000} {
			set := benchSet(b, n)
			b.Run(fmt.Sprintf("%s/%d", form, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Merge(set, v, WithForm(form)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
