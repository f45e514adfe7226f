package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// CRD returns the path of the CustomResourceDefinition of TalosConfigTemplate, a
// file that the Cluster API bootstrap provider for Talos publishes: the one that
// MIRRORPATCH_CRD names, else corpus/talosconfigtemplates.yaml of a folder beside
// this tree. Where several are there they must be the same. That there is none
// is a [MissingError].
func CRD() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	return crd(os.Getenv("MIRRORPATCH_CRD"), filepath.Join(filepath.Dir(here), "../../../.."))
}

func crd(named, beside string) (string, error) {
	if named != "" {
		if _, err := os.ReadFile(named); err != nil { // a folder is none
			return "", fmt.Errorf("MIRRORPATCH_CRD: %w", err)
		}
		return filepath.Abs(named)
	}
	found, err := filepath.Glob(filepath.Join(beside, "*/corpus/talosconfigtemplates.yaml"))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", &MissingError{"MIRRORPATCH_CRD does not name the CRD of TalosConfigTemplate, a file that the Cluster API bootstrap provider for Talos publishes"}
	}
	var first []byte
	for i, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if i == 0 {
			first = text
		} else if !bytes.Equal(text, first) {
			return "", fmt.Errorf("these differ, MIRRORPATCH_CRD must name one: %s", strings.Join(found, ", "))
		}
	}
	return found[0], nil
}
