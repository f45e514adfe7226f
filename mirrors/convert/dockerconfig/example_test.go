package dockerconfig_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerconfig"
)

func ExampleRead() {
	src, report, err := dockerconfig.Read([]byte(`{
  "auths": {"https://index.docker.io/v1/": {"auth": "dXNlcjptYWRlLXVw"}},
  "credHelpers": {"ecr.example.com": "ecr-login"}
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", *src.Set.Config["registry-1.docker.io"].Auth)
	fmt.Println(report)
	// Output:
	// {Username:user Password:[redacted] Auth: IdentityToken:}
	// line 3, column 19: loss: credHelpers["ecr.example.com"]: a program on the machine has the credentials of this registry; Talos runs none (write credentials that last, or a token)
}

// Docker looks Docker Hub up under a name of its own.
func ExampleWrite() {
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{
		"registry-1.docker.io": {Auth: &mirrors.Auth{Username: "user", Password: mirrors.NewSecret("made-up")}},
		"cache.example.com":    {TLS: &mirrors.TLS{InsecureSkipVerify: true}},
	}}
	files, report, err := dockerconfig.Write(set, dockerconfig.AsSecret("tenant-a", "pull"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", files["secret.yaml"])
	fmt.Println(report)
	// Output:
	// apiVersion: v1
	// data:
	//     .dockerconfigjson: ewogICJhdXRocyI6IHsKICAgICJodHRwczovL2luZGV4LmRvY2tlci5pby92MS8iOiB7CiAgICAgICJhdXRoIjogImRYTmxjanB0WVdSbExYVnciCiAgICB9CiAgfQp9Cg==
	// kind: Secret
	// metadata:
	//     name: pull
	//     namespace: tenant-a
	// type: kubernetes.io/dockerconfigjson
	// loss: config["cache.example.com"].tls: the format has credentials only (write the TLS settings in another format)
}
