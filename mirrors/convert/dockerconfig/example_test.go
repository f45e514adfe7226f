package dockerconfig_test

import (
	"fmt"

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
