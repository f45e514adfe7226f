// Package escape puts text into scripts that run in a cluster, one encoder for
// each place.
package escape
