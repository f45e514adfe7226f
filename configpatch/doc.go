// Package configpatch turns a [mirrors.Set] into patches for Talos machine
// configurations, and reads it back out of them.
package configpatch
