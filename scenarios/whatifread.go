package scenarios

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// readWhatIf reads one variant, and lists the choices of all.
func readWhatIf(file string, tree *node, choice Choice) (WhatIf, []Choice, error) {
	r := &reader{file: file, choice: choice, used: map[string]bool{}}
	w := WhatIf{Name: strings.TrimSuffix(strings.TrimSuffix(file, ".yml"), ".yaml")}
	values := r.pairs(tree, "the what-if", keysOfWhatIf)
	var plan Plan // for what varies alone
	r.parameters(&plan, values["vary"])
	w.Why, _ = r.text(values["why"], "why")
	w.Cancellations = r.word(values, "cancellations", "off", "on", "freshest")
	w.NoFloor = r.word(values, "floor", "on", "off") == "off"
	w.Sequence = r.word(values, "sequence", "off", "sent")
	w.SecondPrice = r.word(values, "price", "first", "second") == "second"
	if w.Cancellations == "off" && w.Sequence == "sent" {
		r.fail(values["sequence"].line, "sequence", "sent needs bids that can be cancelled: leave cancellations: off away")
	}
	if values["close"] != nil {
		at := r.offset(values["close"], "close")
		w.Close = &at
	}
	for _, item := range r.list(values["ask"]) {
		w.Asks = append(w.Asks, r.offset(item, "ask"))
	}
	slices.Sort(w.Asks)
	w.Asks = slices.Compact(w.Asks)
	regions := r.regions(values["regions"])
	for _, item := range r.list(values["latency"]) {
		w.Latency = append(w.Latency, r.delay(item, regions))
	}
	r.execution(&w, values["execution"])
	if text, ok := r.text(values["shading"], "shading"); ok {
		percent, err := parsePercent(text)
		if err != nil {
			r.fail(values["shading"].line, "shading", "%w", err)
		}
		w.ShadeBasisPoints = uint64(math.Round(percent * 100))
	}
	if len(r.errs) == 0 && len(values) == 0 {
		r.fail(1, "the what-if", "changes nothing: give any of %s", strings.Join(keysOfWhatIf, ", "))
	}
	r.refuseUnused(&plan, values["vary"])
	return w, plan.Variants(), errors.Join(r.errs...)
}

// word reads one of some words; empty if the key is not there.
func (r *reader) word(values map[string]*node, key string, words ...string) string {
	text, ok := r.text(values[key], key)
	if ok && !slices.Contains(words, text) {
		r.fail(values[key].line, key, "is %q: give one of %s", text, strings.Join(words, ", "))
	}
	return text
}

func (r *reader) offset(n *node, key string) time.Duration {
	text, ok := r.text(n, key)
	if !ok {
		return 0
	}
	at, err := parseOffset(text)
	if err != nil {
		r.fail(n.line, key, "%w", err)
	}
	return at
}

// regions reads which builders are where.
func (r *reader) regions(n *node) map[string][]string {
	regions := map[string][]string{}
	if n == nil {
		return regions
	}
	if n.kind != mapping {
		r.fail(n.line, "regions", "is %s: give names with lists of keys, as in eu: [0x8b, 0xa1]", n.kind)
		return regions
	}
	for _, region := range n.pairs {
		for _, item := range r.list(region.value) {
			if key, ok := r.text(item, "regions"); ok && r.isKey(item, "regions", key) {
				regions[region.key] = append(regions[region.key], key)
			}
		}
	}
	return regions
}

func (r *reader) isKey(n *node, key, text string) bool {
	digits, prefixed := strings.CutPrefix(text, "0x")
	if !prefixed || digits == "" || len(digits) > 96 || strings.Trim(digits, "0123456789abcdef") != "" {
		r.fail(n.line, key, "%q is not the beginning of a public key: write it in small letters, as in 0x8b1d", text)
		return false
	}
	return true
}

// delay reads an entry of latency.
func (r *reader) delay(n *node, regions map[string][]string) (d Delay) {
	const forms = "write it as builder KEY +TIME, relay NAME +TIME or region NAME to relay NAME +TIME"
	text, ok := r.text(n, "latency")
	words := strings.Fields(text)
	if !ok || len(words) != 3 && len(words) != 6 || len(words) == 6 && (words[2] != "to" || words[3] != "relay") {
		r.fail(n.line, "latency", "%q: %s", text, forms)
		return d
	}
	switch words[0] {
	case "builder":
		r.isKey(n, "latency", words[1])
		d.Builders = []string{words[1]}
	case "region":
		if d.Builders = regions[words[1]]; d.Builders == nil {
			r.fail(n.line, "latency", "region %q has no builders: list them below regions", words[1])
		}
	case "relay":
		d.Relay = words[1]
		if len(words) == 6 {
			r.fail(n.line, "latency", "%q: %s", text, forms)
		}
	default:
		r.fail(n.line, "latency", "%q: %s", text, forms)
	}
	if len(words) == 6 {
		d.Relay = words[4]
	}
	add := words[len(words)-1]
	var err error
	if d.Add, err = parseOffset(add); err != nil {
		r.fail(n.line, "latency", "%w", err)
	}
	return d
}

// execution reads "optimistic" or "verified 4ms per Mgas".
func (r *reader) execution(w *WhatIf, n *node) {
	text, ok := r.text(n, "execution")
	if !ok {
		return
	}
	words := strings.Fields(text)
	if len(words) == 1 && words[0] == "optimistic" {
		w.Execution = words[0]
		return
	}
	if len(words) != 4 || words[0] != "verified" || words[2] != "per" || words[3] != "Mgas" {
		r.fail(n.line, "execution", "is %q: write it as optimistic or verified 4ms per Mgas", text)
		return
	}
	took, err := parseSpan(words[1])
	if err != nil {
		r.fail(n.line, "execution", "%w", err)
	}
	w.Execution, w.PicosPerGas = words[0], took.Nanoseconds()/1000 // 1 ns per Mgas is 1/1000 ps per gas
}

// Models says which keys of the variant make its outcome a model's.
func (w WhatIf) Models() []string {
	var all []string
	for _, k := range WhatIfKeys {
		used := map[string]bool{
			"latency": len(w.Latency) > 0, "execution": w.Execution != "", "sequence": w.Sequence == "sent",
			"shading": w.ShadeBasisPoints > 0, "price": w.SecondPrice,
		}[k.Key]
		if k.Model && used {
			all = append(all, fmt.Sprintf("%s: %s", k.Key, k.Doc))
		}
	}
	return all
}
