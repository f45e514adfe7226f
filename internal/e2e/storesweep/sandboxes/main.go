// Command sandboxes makes records of sandboxes in containerd's store, as its CRI
// does for Pods: ctr makes one only with a runtime that starts it.
//
//	sandboxes SOCKET NAMESPACE ID…
//
// It is a module of its own, since containerd's client needs more than the tests beside it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/sandbox"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/anypb"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: sandboxes SOCKET NAMESPACE ID…")
		os.Exit(2)
	}
	if err := create(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sandboxes:", err)
		os.Exit(1)
	}
}

func create(socket, namespace string, ids []string) error {
	client, err := containerd.New(socket)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx := namespaces.WithNamespace(context.Background(), namespace)
	for _, id := range ids {
		// Without this, the CRI of containerd 2.4.2 removes the record when it starts.
		metadata, err := json.Marshal(map[string]any{"Version": "v1", "Metadata": map[string]any{
			"ID": id, "Name": id + "_default_made-up_0", "Config": map[string]any{"metadata": map[string]any{"name": id, "namespace": "default", "uid": "made-up"}},
		}})
		if err != nil {
			return err
		}
		s := sandbox.Sandbox{
			ID: id, Sandboxer: "podsandbox", Runtime: sandbox.RuntimeOpts{Name: "io.containerd.runc.v2"},
			Extensions: map[string]typeurl.Any{"metadata": &anypb.Any{TypeUrl: "github.com/containerd/cri/pkg/store/sandbox/Metadata", Value: metadata}},
		}
		if _, err := client.SandboxStore().Create(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}
