package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/internal/jsonscan"
	"github.com/gavel-relay/gavel/rpc"
)

// Field is a type that reads itself from one JSON value. Its error says what it wants; the caller
// adds the path. A Field that is not in the request keeps its zero value; Read must leave it zero
// for null too, or refuse null.
type Field interface {
	Read(raw []byte) error
}

// MaxList is the most elements that a list may have, unless the list has a limit of its own.
const MaxList = 1000

// ReadPositional reads the params of a request in their order. A missing one stays zero. After the
// last one, null and {} are ignored and everything else is refused. Each of into is a pointer to a
// Field, a struct of Fields, a list, a bool, a string, or to another such pointer, which stays nil
// for null. The error is a *rpc.Refused, InvalidParams, with the path of the field.
func ReadPositional(params json.RawMessage, into ...any) error {
	params = bytes.TrimSpace(params)
	if len(params) == 0 || isNull(params) {
		return nil
	}
	err := eachElement(params, func(i int, value []byte) error {
		if i < len(into) {
			return withinElement(i, decodeParam(value, reflect.ValueOf(into[i]).Elem()))
		}
		if !isNull(value) && !isEmptyObject(value) {
			return errTooMany
		}
		return nil
	})
	if errors.Is(err, errTooMany) {
		return rpc.InvalidParams.With("too many params: want at most %d", len(into))
	}
	return refuseParam("params", err)
}

var errTooMany = errors.New("too many params")

// ReadParam reads one JSON value; path is its place in the request, for errors.
func ReadParam(path string, raw json.RawMessage, into any) error {
	return refuseParam(path, decodeParam(bytes.TrimSpace(raw), reflect.ValueOf(into).Elem()))
}

// MissingParam is the refusal of a request that lacks a field.
func MissingParam(path string) error { return rpc.InvalidParams.With("%s: missing", path) }

func isEmptyObject(raw []byte) bool {
	return raw[0] == '{' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

func isNull(raw []byte) bool { return string(raw) == "null" }

// eachElement visits the elements of a list until one visit fails. It does not check the elements:
// the envelope has checked that they are JSON, and visit reads them.
func eachElement(list []byte, visit func(i int, value []byte) error) error {
	s := jsonscan.Scanner{Doc: list, MaxDepth: 1}
	if s.Peek() != '[' {
		return errors.New("want a list")
	}
	i := -1
	return s.Items(func() error {
		value, err := s.Raw()
		if err != nil {
			return err
		}
		i++
		return visit(i, value)
	})
}

// eachMember visits the members of an object until one visit fails.
func eachMember(object []byte, visit func(name, value []byte) error) error {
	s := jsonscan.Scanner{Doc: object, MaxDepth: 1}
	if s.Peek() != '{' {
		return errors.New("want an object")
	}
	return s.Members(func(name []byte) error {
		value, err := s.Raw()
		if err != nil {
			return err
		}
		return visit(name, value)
	})
}

// misplaced is an error with the path of the value that caused it.
type misplaced struct {
	path  string
	cause error
}

// Error is used for wrapping only; callers of this package get a *rpc.Refused.
func (m *misplaced) Error() string { return m.path + ": " + m.cause.Error() }

// Unwrap returns the cause.
func (m *misplaced) Unwrap() error { return m.cause }

// withinParam prepends a step to an error's path.
func withinParam(step string, err error) error {
	var m *misplaced
	if errors.As(err, &m) {
		return &misplaced{path: step + m.path, cause: m.cause}
	}
	return &misplaced{path: step, cause: err}
}

func withinElement(i int, err error) error {
	if err == nil {
		return nil
	}
	return withinParam("["+strconv.Itoa(i)+"]", err)
}

func withinMember(key string, err error) error {
	if err == nil {
		return nil
	}
	return withinParam("."+key, err)
}

func refuseParam(path string, err error) error {
	if err == nil {
		return nil
	}
	err = withinParam(path, err)
	return rpc.InvalidParams.With("%s", err)
}

var fieldType = reflect.TypeFor[Field]()

func decodeParam(raw []byte, v reflect.Value) error {
	t := v.Type()
	if reflect.PointerTo(t).Implements(fieldType) {
		return v.Addr().Interface().(Field).Read(raw)
	}
	if isNull(raw) {
		v.SetZero()
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return decodeParam(raw, v.Elem())
	case reflect.Struct:
		return decodeStruct(raw, v)
	case reflect.Slice:
		return decodeList(raw, v)
	case reflect.Bool:
		return decodeBool(raw, v)
	case reflect.String:
		text, err := jsonscan.Unquote(raw)
		v.SetString(string(text))
		return err
	default:
		panic(fmt.Sprintf("param: no way to read a %s", t)) // a schema in this repository is wrong
	}
}

// Tolerant is a struct that accepts more members than it has fields. These members have no effect,
// but deployed clients send them.
type Tolerant interface {
	NoEffect() []string
}

// decodeStruct reads the known members, in any order. A member that comes twice is refused: some
// readers would take the first and others the last, and the signer may have meant either. An
// unknown member is refused too, because ignoring it would hide a client's mistake.
func decodeStruct(raw []byte, v reflect.Value) error {
	known := plans[v.Type()]
	if known == nil {
		known = plan(v.Type())
	}
	var seen uint64
	return eachMember(raw, func(name, value []byte) error {
		i, found := known.places[string(name)]
		if !found {
			return known.refuse(string(name))
		}
		if seen&(1<<i) != 0 {
			return withinMember(string(name), errTwice)
		}
		seen |= 1 << i
		if i >= v.NumField() {
			return nil
		}
		if err := decodeParam(value, v.Field(i)); err != nil {
			return withinMember(string(name), err)
		}
		return nil
	})
}

var errTwice = errors.New("comes twice")

// members are the names that a struct accepts. Places from the number of its fields on have no
// effect.
type members struct {
	places map[string]int
	fields []string
}

func plan(t reflect.Type) *members {
	m := &members{places: map[string]int{}}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			m.places[name], m.fields = i, append(m.fields, name)
		}
	}
	last := t.NumField()
	if tolerant, more := reflect.Zero(t).Interface().(Tolerant); more {
		for _, name := range tolerant.NoEffect() {
			if _, twice := m.places[name]; twice {
				panic(fmt.Sprintf("param: %s has %s both with and without effect", t, name)) // a schema in this repository is wrong
			}
			m.places[name] = last
			last++
		}
	}
	if last > 64 {
		// a schema in this repository is wrong
		panic(fmt.Sprintf("param: %s has too many members to remember which have come", t))
	}
	return m
}

// plans are made by Prepare. The map is not written once the program runs.
var plans = map[reflect.Type]*members{}

// Prepare works out once how a struct, and those inside it, are read. For other structs this is
// done at each call, which costs some microseconds. Call it from variables of packages only: it is
// not safe for concurrent use.
func Prepare[T any]() struct{} {
	prepare(reflect.TypeFor[T]())
	return struct{}{}
}

func prepare(t reflect.Type) {
	switch {
	case reflect.PointerTo(t).Implements(fieldType) || plans[t] != nil:
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		prepare(t.Elem())
	case t.Kind() == reflect.Struct:
		plans[t] = plan(t)
		for i := range t.NumField() {
			prepare(t.Field(i).Type)
		}
	}
}

// refuseParam says that a member is not known, and lists the known ones: most often the client
// misspelled one.
func (m *members) refuse(key string) error { return refuseMember(key, m.fields...) }

func refuseMember(key string, known ...string) error {
	return withinMember(clipName(key), errors.New("is not known; known are "+strings.Join(known, ", ")))
}

// clipName makes a name from the request short and printable, so that it can be quoted.
func clipName(name string) string {
	const most = 40
	cut := name[:min(len(name), most)]
	if quoted := strconv.Quote(cut); quoted != `"`+cut+`"` {
		cut = quoted
	}
	if len(name) > most {
		cut += "…"
	}
	return cut
}

// decodeList makes an empty list, not nil, of []: for some fields it means something else than
// null.
func decodeList(raw []byte, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return eachElement(raw, func(i int, value []byte) error {
		if i == MaxList {
			return fmt.Errorf("want at most %d elements", MaxList)
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if err := decodeElement(value, element); err != nil {
			return withinElement(i, err)
		}
		v.Set(reflect.Append(v, element))
		return nil
	})
}

// decodeElement refuses null, unless the element's type is a Field, which decides about null
// itself.
func decodeElement(raw []byte, v reflect.Value) error {
	if isNull(raw) && !reflect.PointerTo(v.Type()).Implements(fieldType) {
		return errors.New("want no null in a list")
	}
	return decodeParam(raw, v)
}

func decodeBool(raw []byte, v reflect.Value) error {
	switch string(raw) {
	case "true":
		v.SetBool(true)
	case "false":
		v.SetBool(false)
	default:
		return errors.New("want true or false")
	}
	return nil
}
