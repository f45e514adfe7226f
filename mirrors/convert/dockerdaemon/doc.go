// Package dockerdaemon reads and writes the registry settings of Docker's
// daemon.json (/etc/docker/daemon.json).
//
//	daemon.json                                   Set
//	registry-mirrors: ["https://m.example.com"]   mirrors["docker.io"].endpoints, with fallback
//	insecure-registries: ["m.example.com:5000"]   config["m.example.com:5000"].tls.insecureSkipVerify
//
// Docker has mirrors for Docker Hub only, and always falls back to it. A
// registry in insecure-registries is asked with https and no verification, and
// then with plain http; a Set says one or the other, so each such entry needs a
// decision and is in the report. Docker 29 is the reference.
//
// Certificates of registries lie in /etc/docker/certs.d, which package hosts
// reads; credentials in config.json, which package dockerconfig reads. Write
// makes the certificates, and reports credentials.
//
// Docker does not start with a key that it does not know. One that looks as if it
// were about registries is an error here, any other is in the report.
package dockerdaemon
