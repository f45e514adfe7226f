package v1alpha1_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
)

// fill sets every field that can be set, so that a new field is in the test at once.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(rand.Int64N(1e9), 0)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 4))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key)
			fill(t, value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(string(rune('a'+rand.IntN(26))) + string(rune('a'+rand.IntN(26))) + string(rune('a'+rand.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(rand.Int64N(1000) + 1)
	case reflect.Uint8:
		v.SetUint(rand.Uint64N(256))
	default:
		t.Fatalf("a field of type %s: the test cannot fill it", v.Type())
	}
}

// shared reports a place that both values can be changed through.
func shared(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return ""
		}
		if a.Type() == reflect.TypeFor[*time.Location]() { // never changed
			return ""
		}
		if a.Pointer() == b.Pointer() {
			return path
		}
		return shared(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type() == reflect.TypeFor[time.Time]() {
				return ""
			}
			if found := shared(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); found != "" {
				return found
			}
		}
	case reflect.Slice:
		if a.Len() > 0 && a.Pointer() == b.Pointer() {
			return path
		}
		for i := range a.Len() {
			if found := shared(path+"[]", a.Index(i), b.Index(i)); found != "" {
				return found
			}
		}
	case reflect.Map:
		if a.Len() > 0 && a.Pointer() == b.Pointer() {
			return path
		}
		for _, key := range a.MapKeys() {
			if found := shared(path+"{}", a.MapIndex(key), b.MapIndex(key)); found != "" {
				return found
			}
		}
	}
	return ""
}

// TestDeepCopy fills every field, and wants an equal copy that shares nothing.
func TestDeepCopy(t *testing.T) {
	for _, object := range []runtime.Object{&v1alpha1.RegistryMirrors{}, &v1alpha1.RegistryMirrorsList{}} {
		fill(t, reflect.ValueOf(object).Elem())
		c := object.DeepCopyObject()
		require.Equal(t, object, c)
		assert.Empty(t, shared("object", reflect.ValueOf(object), reflect.ValueOf(c)), "shared")
		assert.NotEmpty(t, shared("object", reflect.ValueOf(object), reflect.ValueOf(object)), "the test can see it")
	}
	assert.Nil(t, (*v1alpha1.RegistryMirrors)(nil).DeepCopyObject())
	assert.Nil(t, (*v1alpha1.RegistryMirrorsList)(nil).DeepCopyObject())
	zero := &v1alpha1.RegistryMirrors{}
	assert.Equal(t, zero, zero.DeepCopy(), "what is nil stays nil")
}
