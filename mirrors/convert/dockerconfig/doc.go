// Package dockerconfig reads and writes credentials in the format of Docker's
// config.json, which Podman's auth.json and Kubernetes Secrets of the type
// kubernetes.io/dockerconfigjson share.
//
//	config.json                                   Set
//	auths["m.example.com:5000"].auth              config["m.example.com:5000"].auth, as user name and password
//	auths["m.example.com"].identitytoken          config["m.example.com"].auth.identityToken
//	auths["https://index.docker.io/v1/"]          config["registry-1.docker.io"]
//	auths["https://m.example.com/v1/"]            config["m.example.com"]
//
// The format has no mirrors. Credential stores and helpers are programs on the
// machine that the file is from: what they hold is not in the file, and the
// report names them. Talos has one set of credentials for a host, so an entry
// for a repository (Podman) is in the report. Docker 29 is the reference.
package dockerconfig

// Option is what Write cannot see in the Set.
type Option func(*options)

type options struct{ namespace, name string }

// AsSecret makes Write write a Secret of the type kubernetes.io/dockerconfigjson
// as YAML, secret.yaml, instead of config.json. The namespace may be empty.
func AsSecret(namespace, name string) Option {
	return func(o *options) { o.namespace, o.name = namespace, name }
}
