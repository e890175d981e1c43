package send

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Parse reads a list of builders (YAML). Errors name the line, or the builder.
func Parse(text []byte) ([]Builder, error) {
	var list []Builder
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&list); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	seen := map[string]bool{}
	for i := range list {
		b := &list[i]
		b.Name = strings.ToLower(b.Name)
		address, err := url.Parse(b.URL)
		switch {
		case b.Name == "":
			return nil, fmt.Errorf("builder %d has no name", i+1)
		case seen[b.Name]:
			return nil, fmt.Errorf("builder %s is there twice", b.Name)
		case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
			return nil, fmt.Errorf("builder %s has the url %q: give one that begins with http:// or https://", b.Name, b.URL)
		}
		for _, api := range b.APIs {
			if !slices.Contains([]string{APISendBundle, APIMevBundle, APICancel}, api) {
				return nil, fmt.Errorf("builder %s has the api %q: give %s, %s or %s", b.Name, api, APISendBundle, APIMevBundle, APICancel)
			}
		}
		seen[b.Name] = true
	}
	return list, nil
}
