// Command controller keeps the registries of Cluster API's TalosConfigTemplates
// as RegistryMirrors resources of the same namespace say.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("controller", flag.ExitOnError)
	namespaces := flags.String("namespaces", os.Getenv("NAMESPACES"), "namespaces to work in, with commas between them (default: $NAMESPACES)")
	var options Options
	flags.StringVar(&options.ProbeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are; 0 for nowhere")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", "0", "where /metrics is; 0 for nowhere")
	flags.BoolVar(&options.LeaderElection, "leader-elect", false, "wait until no other replica is at work")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	for _, namespace := range strings.Split(*namespaces, ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			options.Namespaces = append(options.Namespaces, namespace)
		}
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := NewManager(config, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
