package servers

import (
	"os/exec"
	"syscall"
)

// endWithThread has Linux send the process a signal when the thread ends that starts it.
func endWithThread(cmd *exec.Cmd, signal syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: signal}
}
