// Package configpatch turns a [mirrors.Set] into patches for Talos machine
// configurations, and reads a Set back out of them. It is the only package of
// the module that imports Talos machinery (1.13.9).
//
// Which function first depends on what is known about the configuration:
//
//	function   the configuration                    it returns
//	Merge      has none of the Set's keys           one patch, to be applied once (Talos 1.3 and later)
//	Replace    not known                            three patches for one call, any number of times (client 1.8 and later)
//	Converge   at hand                              one patch that is the least change, or none
//	Read       at hand                              what it says, in either form or both, and where
//	Migrate    at hand                              the configuration in document form
//
// Talos appends lists when it merges. A merge patch that is applied twice doubles
// the endpoints, the node writes a hosts.toml with a repeated table, and containerd
// then ignores every mirror of that registry (containerd 2.3.3). Replace is for
// whatever applies patches again and again.
//
// # Forms and versions
//
// There are two forms: machine.registries of the v1alpha1 document, and the
// documents RegistryMirrorConfig, RegistryAuthConfig and RegistryTLSConfig. For a
// key that is in both, the document counts, whole. [FormFor] chooses by the
// version, [WithForm] insists. The client applies a patch and the node reads the
// result, so the version is the older of the two: [Oldest]. What a version or a
// form cannot say is an error that names the one that can. A version after 1.14
// is taken without a word for one that reads what 1.14 reads: what it may have
// changed is not known here, and the proof is machinery 1.13.9's.
//
// # What is promised
//
//   - The same Set gives the same bytes: sorted, one layout, printable ASCII only.
//   - A patch is a strategic-merge patch, never JSON 6902, which Talos refuses for a
//     configuration of several documents, and never empty, which it takes for that.
//   - No patch is built from a Set in which [mirrors.Set.Check] finds an error: the
//     error unwraps to the [*mirrors.Error] with every finding.
//   - Proof before return: machinery applies the patch, to configurations made for
//     that purpose or to the one at hand; the result reads back as the Set, all else
//     is unchanged, and Validate for bare metal finds nothing that it did not find before.
//   - Where machinery panics, there is an error.
//   - All problems are reported together, joined by errors.Join.
//   - Passwords, tokens and keys are in the bytes of a patch and nowhere else: not in
//     an error, nor in what fmt or log/slog print.
package configpatch
