package servers

import (
	"os/exec"
	"syscall"
)

// endWithThread has Linux end the process when the thread ends that starts it.
func endWithThread(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
