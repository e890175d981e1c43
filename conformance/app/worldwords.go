package app

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// WorldWords returns the texts that ${…} stands for in the image, command, environment and files of
// a container: what a server must know to follow a world. Host is where containers reach the world.
func WorldWords(facts world.Facts, host string) (map[string]string, error) {
	words := map[string]string{
		"CHAIN_ID": strconv.FormatUint(facts.ChainID, 10), "GENESIS_TIME": strconv.FormatInt(facts.GenesisTime, 10),
		"GENESIS_FORK_VERSION": facts.GenesisForkVersion, "GENESIS_VALIDATORS_ROOT": facts.GenesisValidatorsRoot,
		"FORK_VERSION": facts.ForkVersion,
		"SLOT_SECONDS": strconv.FormatInt(facts.SlotMs/1000, 10), "SLOTS_PER_EPOCH": strconv.FormatUint(facts.SlotsPerEpoch,
			10),
	}
	addresses := map[string]string{"BEACON_URL": facts.BeaconURL, "EXECUTION_URL": facts.ExecutionURL,
		"VALIDATION_URL": facts.ValidationURL}
	for _, b := range facts.Builders {
		addresses["BUILDER_"+strings.ToUpper(b.Name)+"_URL"] = b.URL
	}
	for word, address := range addresses {
		parsed, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("read the world's %s: %w", word, err)
		}
		parsed.Host = net.JoinHostPort(host, parsed.Port())
		words[word] = parsed.String()
	}
	return words, nil
}

var wordPattern = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)\}`)

// expandWords replaces the words in a text. An unknown word is an error, so that a mistake in the
// file does not show first as a server that fails.
func expandWords(text string, words map[string]string) (string, error) {
	var unknown []string
	expanded := wordPattern.ReplaceAllStringFunc(text, func(found string) string {
		value, known := words[found[2:len(found)-1]]
		if !known {
			unknown = append(unknown, found)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("%s stands for nothing: there are %s", strings.Join(unknown, ", "),
			strings.Join(slices.Sorted(maps.Keys(words)), ", "))
	}
	return expanded, nil
}

// expandAll replaces the words in all texts that a container is started with.
func expandAll(c target.Container, words map[string]string) (target.Container, error) {
	expanded := c
	var err error
	into := func(text string) string {
		value, mistake := expandWords(text, words)
		if err == nil {
			err = mistake
		}
		return value
	}
	expanded.Image, expanded.Command = into(c.Image), make([]string, len(c.Command))
	for i, argument := range c.Command {
		expanded.Command[i] = into(argument)
	}
	intoAll := func(texts map[string]string) map[string]string {
		values := map[string]string{}
		for name, text := range texts {
			values[name] = into(text)
		}
		return values
	}
	expanded.Environment, expanded.Files = intoAll(c.Environment), intoAll(c.Files)
	return expanded, err
}
