package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Hashed returns t under a name that ends in a hash of its spec, 16 hexadecimal
// digits; the name before it is cut where both have more than 63 bytes.
//
// The webhook of the bootstrap provider (v0.6.0 and later) refuses every change
// of the spec of a TalosConfigTemplate that is there, so under one name only what
// is applied first reaches a machine. Under the name that Hashed gives, a change
// is a new object. What refers to the template, the bootstrap.configRef of a
// MachineDeployment, must be given the new name, and Cluster API then rolls the
// machines over. Nothing removes the templates before it.
//
// The hash covers what the webhook compares: GenerateType, TalosVersion, the
// patches and the Skeleton, with its inputs by name. A value that an input has
// when the script runs, labels and annotations do not count. When such a value
// changes under the same name, the webhook refuses the template and the script
// fails with its text.
func (t Template) Hashed() Template {
	spec, _ := json.Marshal(struct { // of strings and bytes: no error
		GenerateType, TalosVersion, Skeleton string
		StrategicPatches                     [][]byte
	}{t.generateType(), t.TalosVersion, t.Skeleton, t.StrategicPatches})
	sum := sha256.Sum256(spec)
	t.Name = hashedName(t.Name, hex.EncodeToString(sum[:8]))
	return t
}
