package goldentest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// Choices makes decisions out of fuzzed bytes, so that a fuzz test generates
// inputs that have a structure.
type Choices []byte

// Int returns a number below n; 0 when there are no more bytes.
func (c *Choices) Int(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

// Bool returns true once in n times.
func (c *Choices) Bool(n int) bool { return c.Int(n) == n-1 }

// Pick returns one of the strings.
func (c *Choices) Pick(from ...string) string { return from[c.Int(len(from))] }

// Invariants checks what holds for the result of every reader, whatever the input.
func Invariants(t *testing.T, data []byte, src *mirrors.Source, report convert.Report, err error) {
	t.Helper()
	lines := 1
	for _, r := range string(data) {
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029': // to YAML
			lines++
		}
	}
	inside := func(line, column int) {
		if line < 0 || column < 0 || line > lines+1 || column > len(data)+1 {
			t.Errorf("line %d, column %d in an input of %d lines", line, column, lines)
		}
	}
	if (src == nil) != (err != nil) {
		t.Fatalf("want a result or an error: %v, %v", src, err)
	}
	if err != nil {
		var all *mirrors.Error
		if !errors.As(err, &all) || len(all.Findings) == 0 {
			t.Fatalf("an error without findings: %T %v", err, err)
		}
		for _, f := range all.Findings {
			inside(f.Line, f.Column)
			if f.Rule == "" || f.Message == "" || f.Severity != mirrors.SeverityError {
				t.Errorf("an incomplete finding: %+v", f)
			}
		}
		return
	}
	for _, e := range report.Entries {
		inside(e.Line, e.Column)
		if e.Kind == 0 || e.Reason == "" || e.Fix == "" {
			t.Errorf("an incomplete entry: %+v", e)
		}
	}
	for _, f := range src.Check() {
		inside(f.Line, f.Column)
	}
}

// Listed reports whether an entry of the reports names a key: a registry or a host.
func Listed(key string, reports ...convert.Report) bool {
	for _, r := range reports {
		for _, e := range r.Entries {
			if strings.Contains(e.Path, fmt.Sprintf("[%q]", key)) || strings.Contains(e.Reason+e.Fix, key) {
				return true
			}
		}
	}
	return false
}

// Secrets reads mutations of an input that holds a secret, and checks that neither
// an error nor a report has it.
func Secrets(t *testing.T, input, secret string, read func(data []byte) (*mirrors.Source, convert.Report, error)) {
	t.Helper()
	if !strings.Contains(input, secret) {
		t.Fatal("the input does not have the secret")
	}
	r := rand.New(rand.NewPCG(7, 11))
	const marks = " \t\n:{}[]\"'#&*!|>%@`\\,-=?$~"
	results := 0
	for range 3000 {
		data := []byte(input)
		for range 1 + r.IntN(3) {
			i := r.IntN(len(data))
			switch r.IntN(3) {
			case 0:
				data = slices.Delete(data, i, i+1)
			case 1:
				data[i] = marks[r.IntN(len(marks))]
			default:
				data = slices.Insert(data, i, marks[r.IntN(len(marks))])
			}
		}
		src, report, err := read(data)
		said := fmt.Sprint(report, err)
		if src != nil {
			results++
		}
		for i := range 3 {
			if part := secret[i*len(secret)/3 : (i+1)*len(secret)/3]; strings.Contains(said, part) {
				t.Fatalf("%q: the secret shows:\n%s", data, said)
			}
		}
	}
	if results == 0 {
		t.Error("no mutation was read")
	}
}

// Limits checks that a reader refuses 50 MB made of a repeated piece, with a
// clear error and little memory.
func Limits(t *testing.T, before, piece, after string, read func(data []byte) error) {
	t.Helper()
	const size = 50 << 20
	data := append([]byte(before), bytes.Repeat([]byte(piece), size/len(piece))...)
	data = append(data, after...)
	allocated := allocations(func() {
		err := read(data)
		var all *mirrors.Error
		if !errors.As(err, &all) || all.Findings[0].Rule != "input-size" {
			t.Errorf("50 MB: want an error of the rule input-size, got %v", err)
		}
	})
	if most := uint64(20 * len(data)); allocated > most {
		t.Errorf("50 MB take %d bytes, more than %d", allocated, most)
	}
	t.Logf("50 MB: %d bytes allocated", allocated)
}

// Many checks that the cost of reading grows with the input and not with its
// square: eight times the entries, each of which make makes, cost far less than
// 64 times as much. Costs are compared with each other, never with a limit.
func Many(t *testing.T, before string, make func(i int) string, after string, read func(data []byte) error) {
	t.Helper()
	cost := func(size int) (data []byte, least time.Duration) {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < size; i++ {
			b.WriteString(make(i))
		}
		b.WriteString(after)
		data = []byte(b.String())
		for try := range 3 {
			// Not the time of day: other tests run beside this one.
			start := cpuTime(t)
			_ = read(data)
			if took := cpuTime(t) - start; try == 0 || took < least {
				least = took
			}
		}
		return data, least
	}
	_, small := cost(1 << 15)
	data, large := cost(1 << 18)
	if small = max(small, time.Millisecond); large > 40*small {
		t.Errorf("%.60q…: eight times as much costs %s instead of %s", data, large, small)
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// MergeBomb is Bomb with merge keys, at a place where a mapping belongs.
func MergeBomb(t *testing.T, before, after string, read func(data []byte) error) {
	t.Helper()
	var b strings.Builder
	b.WriteString("x0: &x0 {a: b, c: d, e: f, g: h, i: j, k: l, m: n, o: p, q: r, s: t}\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "x%d: &x%d {<<: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	data := []byte(b.String() + before + "*x9" + after)
	allocated := allocations(func() {
		err := read(data)
		var all *mirrors.Error
		if !errors.As(err, &all) || !slices.ContainsFunc(all.Findings, func(f mirrors.Finding) bool { return f.Rule == "input-size" }) {
			t.Errorf("merge keys that stand for 10^9 values: want an error of the rule input-size, got %v", err)
		}
	})
	if allocated > 256<<20 {
		t.Errorf("%d bytes of merge keys take %d bytes", len(data), allocated)
	}
}

// Bomb checks that a reader makes little of nested aliases that stand for 10^9 values.
func Bomb(t *testing.T, before, after string, read func(data []byte) error) {
	t.Helper()
	var b strings.Builder
	b.WriteString("x0: &x0 {a: b, c: d, e: f, g: h, i: j, k: l, m: n, o: p, q: r, s: t}\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	data := []byte(b.String() + before + "*x9" + after)
	allocated := allocations(func() {
		if err := read(data); err == nil {
			t.Error("an alias of a list where a mapping belongs was read")
		}
	})
	if allocated > 64<<20 {
		t.Errorf("%d bytes of aliases take %d bytes", len(data), allocated)
	}
}

// FlatBomb is Bomb with one level: many aliases of one mapping with many values.
// open and end are what stands around the values of that mapping in flow style;
// the aliases are below the key section.
func FlatBomb(t *testing.T, open, end, section string, read func(data []byte) error) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n  a: &a %s", section, open)
	for i := range 1000 {
		fmt.Fprintf(&b, "e%d.example.com, ", i)
	}
	b.WriteString(end + "\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  r%d.example.com: *a\n", i)
	}
	tooLarge(t, []byte(b.String()), 384<<20, read)
}

// ManyMistakes checks that a reader keeps a sensible number of findings.
func ManyMistakes(t *testing.T, before, piece, after string, read func(data []byte) error) {
	t.Helper()
	const size = 3 << 19
	tooLarge(t, []byte(before+strings.Repeat(piece, size/len(piece))+after), 512<<20, read)
}

// tooLarge wants an error that has a finding of the rule input-size, and not
// many more than 10,000.
func tooLarge(t *testing.T, data []byte, most uint64, read func(data []byte) error) {
	t.Helper()
	allocated := allocations(func() {
		err := read(data)
		var all *mirrors.Error
		if !errors.As(err, &all) || !slices.ContainsFunc(all.Findings, func(f mirrors.Finding) bool { return f.Rule == "input-size" }) {
			t.Errorf("%.60q…: want an error of the rule input-size, got %.200v", data, err)
		} else if len(all.Findings) > 20_010 {
			t.Errorf("%.60q…: %d findings", data, len(all.Findings))
		}
	})
	if allocated > most {
		t.Errorf("%.60q…: %d bytes take %d bytes", data, len(data), allocated)
	}
	t.Logf("%.60q…: %d bytes take %d bytes", data, len(data), allocated)
}

func allocations(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
