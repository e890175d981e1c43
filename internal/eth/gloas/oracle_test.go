package gloas

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/holiman/uint256"
	dynssz "github.com/pk910/dynamic-ssz"
)

// Another implementation of SSZ, which follows the tags of the types by reflection, agrees about
// the bytes and the root of random values, and reads them back.
func TestAnotherImplementationAgrees(t *testing.T) {
	const values = 10_000
	forms := formsIn(Mainnet)
	other := dynssz.NewDynSsz(nil, dynssz.WithNoFastSsz())
	random := rand.New(rand.NewPCG(1, 2))
	for i := range values {
		f := forms[i%len(forms)]
		value := reflect.New(f.value)
		fill(random, value.Elem(), "")
		raw, err := f.encode(value.Interface())
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		root, err := f.root(value.Interface())
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		if f.value.Kind() != reflect.Struct { // the other one knows only containers; payloads have this list
			continue
		}
		if want, err := other.MarshalSSZ(value.Interface()); err != nil || !bytes.Equal(raw, want) {
			t.Fatalf("%s: %v\n%x: want\n%x", f.name, err, raw, want)
		}
		if want, err := other.HashTreeRoot(value.Interface()); err != nil || root != want {
			t.Fatalf("%s has root %x: want %x, %v\n%x", f.name, root, want, err, raw)
		}
		back := reflect.New(f.value).Interface()
		if err := other.UnmarshalSSZ(back, raw); err != nil {
			t.Fatalf("%s: %v\n%x", f.name, err, raw)
		}
		if i/len(forms)%7 == 0 {
			decoded, err := f.decode(raw)
			if err != nil {
				t.Fatalf("%s: %v\n%x", f.name, err, raw)
			}
			checkValue(t, f, decoded, raw, root)
		}
	}
}

// fill sets a value of one of the types of Forms to a random one. The tag has its sizes.
func fill(random *rand.Rand, v reflect.Value, tag reflect.StructTag) {
	switch v.Interface().(type) {
	case bitfield.Bitlist:
		raw := randomBytes(random, 1+random.IntN(70))
		raw[len(raw)-1] |= 1 << random.IntN(8)
		v.SetBytes(raw)
		return
	case bitfield.Bitvector64:
		v.SetBytes(randomBytes(random, 8))
		return
	case bitfield.Bitvector512:
		v.SetBytes(randomBytes(random, 64))
		return
	case *uint256.Int:
		v.Set(reflect.ValueOf(new(uint256.Int).SetBytes(randomBytes(random, random.IntN(33)))))
		return
	}
	switch v.Kind() {
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(random.Uint64() >> (64 - v.Type().Bits()) >> random.IntN(v.Type().Bits()))
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 1)
	case reflect.String:
		v.SetString(hex.EncodeToString(randomBytes(random, random.IntN(20))) + "\u00e9\"<")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), "")
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i), v.Type().Field(i).Tag)
		}
	case reflect.Array:
		reflect.Copy(v, reflect.ValueOf(randomBytes(random, v.Len())).Convert(reflect.SliceOf(v.Type().Elem())))
	case reflect.Slice:
		fillSlice(random, v, tag)
	default:
		panic(fmt.Sprintf("no random %s", v.Type()))
	}
}

func fillSlice(random *rand.Rand, v reflect.Value, tag reflect.StructTag) {
	length := random.IntN(4)
	if random.IntN(4) == 0 && (v.Type().Elem().Kind() == reflect.Uint64 || v.Type().Elem().Size() < 100) {
		length = random.IntN(100)
	}
	if most, err := strconv.Atoi(tag.Get("ssz-max")); err == nil {
		length = min(length, most)
	}
	if v.Type().Elem().Size() > 100_000 { // a blob
		length = max(0, random.IntN(20)-18)
	}
	first, rest, _ := strings.Cut(tag.Get("ssz-size"), ",")
	if size, err := strconv.Atoi(first); err == nil {
		length = size
	}
	v.Set(reflect.MakeSlice(v.Type(), length, length))
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes(randomBytes(random, length))
		return
	}
	for i := range length {
		fill(random, v.Index(i), reflect.StructTag(`ssz-size:"`+rest+`"`))
	}
}

func randomBytes(random *rand.Rand, length int) []byte {
	raw := make([]byte, length)
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	return raw
}
