// Package reconcile brings a Talos patch into a cluster: it makes the script, and
// the Job around it, that applies a TalosConfigTemplate of the Cluster API
// bootstrap provider for Talos, from which new machines get their configuration.
// Start with [Template], then [Script] for the script alone or [Manifests] for the Job.
// For machines that run already, [NodesScript] patches them with talosctl.
//
//	Template                       the TalosConfigTemplate has
//	StrategicPatches               generateType worker or controlplane, strategicPatches
//	Skeleton, Inputs               generateType none, data
//	Skeleton, StrategicPatches     generateType none, data, strategicPatches on top
//
//	Input.From     the value comes from                        read by   allowed by
//	FromEnv        the Job's env: a text or a secretKeyRef     kubelet   nothing is needed
//	FromSecret     a key of a Secret, base64 or decoded        kubectl   get on that Secret
//	FromJSONPath   a field of an object, such as a Service     kubectl   get on that object
//
// What is promised:
//
//   - Every text of a Template arrives as it was given, character for
//     character, through YAML, the kubelet's $(NAME) expansion, the shell and
//     YAML again, or is an error that tells where it stands. Nothing in it is
//     run or expanded, and no variable of the Job shows up where the skeleton
//     did not place it.
//   - An input is waited for, Tries times Interval and the time that kubectl
//     takes, then checked against its Form. When one is missing or does not
//     fit, the script says which and exits with 1; nothing is applied. No value
//     can change the structure of the skeleton or the type of its own place.
//   - The Role allows create on talosconfigtemplates (which no name can
//     narrow), get and patch on the one, and get on each Secret and object
//     that an input names.
//   - The Pod meets the restricted level of Pod Security: user 65532, no
//     capabilities, a read-only root file system with an emptyDir at /tmp.
//   - The script is in the Job's command when it fits there (131071 bytes),
//     else in a mounted ConfigMap; in a mounted Secret when the Template is
//     Sensitive. More than 1 MiB is an error.
//
// The bootstrap provider's webhook (v0.6.0 and later) refuses a changed spec
// under a name that is there: where the spec can change, apply what
// [Template.Hashed] returns. Its name ends in a hash of the spec, so that a
// change is a new object, and the bootstrap.configRef of a MachineDeployment has
// to name it.
//
// The name of the Job ends in a hash of its content, 16 hexadecimal digits: the
// same Job has the same name, and applying it again does nothing while it
// exists. So A, then B, then A again within the TTL of the first A leaves the
// cluster with B: the third apply finds the finished Job. Give each run its own
// RunID (a commit, a time) where that may happen. The ConfigMap or Secret of a
// mounted script has the Job's name, is immutable, and stays when the Job is
// deleted.
package reconcile
