// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// One program with the API server, the scheduler and the kubelet of Kubernetes, for the tests. Its first argument names
// the component. One program is linked in a third of the time of three.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	component := map[string]func() *cobra.Command{
		"kube-apiserver": apiserver.NewAPIServerCommand,
		"kube-scheduler": func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":        func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	}
	if len(os.Args) < 2 || component[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "the first argument must be kube-apiserver, kube-scheduler or kubelet")
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	os.Exit(cli.Run(component[os.Args[0]]()))
}
