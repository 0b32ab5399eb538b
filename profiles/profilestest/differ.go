package profilestest

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"prismtop/profiles"
)

// Differ returns where two values differ, empty where they do not. NaN equals itself here.
func Differ(a, b any) string { return difference("", reflect.ValueOf(a), reflect.ValueOf(b)) }

func difference(path string, a, b reflect.Value) string {
	if !a.IsValid() || !b.IsValid() {
		return where(a.IsValid() != b.IsValid(), path, a, b)
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		x, y := a.Float(), b.Float()
		return where(x != y && !(math.IsNaN(x) && math.IsNaN(y)), path, a, b)
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return where(a.IsNil() != b.IsNil(), path, a, b)
		}
		if a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() {
			return "" // such as a table, whose functions cannot be compared
		}
		return difference(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if d := difference(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice, reflect.Array:
		if equalCurves(a, b) {
			return ""
		}
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s has %d and %d elements", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	}
	return where(!a.Equal(b), path, a, b)
}

// equalCurves reports whether two values are curves without a difference: they are most of a
// snapshot, and take long point by point.
func equalCurves(a, b reflect.Value) bool {
	if a.Type() != reflect.TypeFor[profiles.Curve]() || !a.CanInterface() {
		return false
	}
	return slices.EqualFunc(a.Interface().(profiles.Curve), b.Interface().(profiles.Curve),
		func(p, q profiles.Point) bool {
			return p.First == q.First && p.Last == q.Last && p.Min == q.Min && p.Max == q.Max && p.Mean == q.Mean &&
				slices.Equal(p.Bins, q.Bins)
		})
}

func where(differ bool, path string, a, b reflect.Value) string {
	if !differ {
		return ""
	}
	return fmt.Sprintf("%s is %v and %v", path, a, b)
}
