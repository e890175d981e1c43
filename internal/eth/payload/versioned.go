package payload

// Member finds the member of a versioned value that its version names. The libraries' types such as
// VersionedSignedBuilderBid have a field for each fork, and lack methods that all members have,
// such as the encodings. The field is found by the fork's name, so that a new fork changes nothing
// here, nor in the callers.

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/attestantio/go-eth2-client/spec"

	"github.com/gavel-relay/gavel/internal/eth"
)

// errNone means that a value has a version, but no member of it.
var errNone = errors.New("the member of its version is missing")

// Member returns the member of the value's version. Value points to one of the libraries' versioned
// structs; an error wraps eth.ErrFork if there is no such member.
func Member[T any](value any) (member T, err error) {
	field, err := fieldOf(value, ForkOf(value))
	if err != nil {
		return member, err
	}
	if field.IsNil() {
		return member, fmt.Errorf("%T: %w", value, errNone)
	}
	return as[T](field)
}

// MakeMember sets the value's version, and makes and returns its empty member.
func MakeMember[T any](value any, fork eth.Fork) (member T, err error) {
	field, err := fieldOf(value, fork)
	if err != nil {
		return member, err
	}
	field.Set(reflect.New(field.Type().Elem()))
	setVersion(value, fork)
	return as[T](field)
}

// SetMember sets the value's version and its member.
func SetMember(value any, fork eth.Fork, member any) error {
	field, err := fieldOf(value, fork)
	if err != nil {
		return err
	}
	if given := reflect.TypeOf(member); given != field.Type() {
		return fmt.Errorf("%T has a %s in %s, not a %s", value, field.Type(), fork, given)
	}
	field.Set(reflect.ValueOf(member))
	setVersion(value, fork)
	return nil
}

// ForkOf returns the fork of the value's version; 0 if it has none.
func ForkOf(value any) eth.Fork {
	version, _ := reflect.ValueOf(value).Elem().FieldByName("Version").Interface().(spec.DataVersion)
	return eth.ForkOf(version)
}

func setVersion(value any, fork eth.Fork) {
	reflect.ValueOf(value).Elem().FieldByName("Version").Set(reflect.ValueOf(fork.DataVersion()))
}

// fieldOf returns the field with the fork's name: Fulu for fulu.
func fieldOf(value any, fork eth.Fork) (reflect.Value, error) {
	if name := fork.String(); fork.Known() {
		field := reflect.ValueOf(value).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:])
		if field.IsValid() && field.Kind() == reflect.Pointer {
			return field, nil
		}
	}
	return reflect.Value{}, fmt.Errorf("%T has nothing in %s: %w", value, fork, eth.ErrFork)
}

func as[T any](field reflect.Value) (member T, err error) {
	member, is := field.Interface().(T)
	if !is {
		return member, fmt.Errorf("a %s is no %T", field.Type(), member)
	}
	return member, nil
}
