//go:build !linux

package servers

import (
	"os/exec"
	"syscall"
)

// endWithThread does nothing where the system cannot.
func endWithThread(*exec.Cmd, syscall.Signal) {}
