package mutant

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pass forwards a stream line by line, each changed by the fault. If the target did not open a
// stream, it returns false, and the target's answer is in the exchange.
func pass(w http.ResponseWriter, e *Exchange, base string,
	fault Fault) (streamed bool, err error) {
	r := e.Request
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet,
		strings.TrimRight(base, "/")+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		return false, fmt.Errorf("forward: %w", err)
	}
	request.Header = r.Header.Clone()
	endless := *client
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		return false, fmt.Errorf("forward: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, e.take(response)
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	for source := bufio.NewReaderSize(response.Body, 1<<20); ; {
		text, err := source.ReadString('\n')
		if err != nil {
			return true, nil // the stream is over
		}
		changed, keep := strings.TrimSuffix(text, "\n"), true
		if fault.Line != nil {
			changed, keep = fault.Line(changed)
		}
		if keep && !fault.write(w, changed+"\n", flusher) {
			return true, nil // the listener is gone
		}
	}
}

// write sends a line to a listener. It returns false if the listener is gone.
func (f Fault) write(w io.Writer, line string, flusher http.Flusher) bool {
	if f.writer != nil {
		f.writer.Lock()
		defer f.writer.Unlock()
	}
	_, err := io.WriteString(w, line)
	flusher.Flush()
	return err == nil
}

// lines is a fault that changes lines of a stream.
func lines(change func(line string) (string, bool)) func() Fault {
	return func() Fault { return Fault{Line: change} }
}

// events is a fault that changes events of the stream, but not of the history.
func events(change func(e map[string]any)) func() Fault {
	return lines(func(line string) (string, bool) {
		text, is := strings.CutPrefix(line, "data: ")
		var e map[string]any
		if !is || json.Unmarshal([]byte(text), &e) != nil {
			return line, true
		}
		change(e)
		raw, err := json.Marshal(e)
		if err != nil {
			return line, true
		}
		return "data: " + string(raw), true
	})
}

// txs is a fault that changes the transactions of events.
func txs(change func(tx map[string]any)) func() Fault {
	return events(func(e map[string]any) {
		list, _ := e["txs"].([]any)
		for _, tx := range list {
			change(object(tx))
		}
	})
}

// lacks is a fault that removes a member of transactions.
func lacks(name string) func() Fault { return txs(func(tx map[string]any) { delete(tx, name) }) }

// logs is a fault that changes the logs of events.
func logs(change func(log map[string]any)) func() Fault {
	return events(func(e map[string]any) {
		list, _ := e["logs"].([]any)
		for _, log := range list {
			change(object(log))
		}
	})
}

const (
	historyPath = "/api/v1/history"
	infoPath    = "/api/v1/history/info"
)

// records is a fault that changes records of the history.
func records(change func(r map[string]any)) func() Fault {
	return document(historyPath, func(d any) any {
		list, _ := d.([]any)
		for _, r := range list {
			change(object(r))
		}
		return d
	})
}

// fact is a fault that changes a member of the history's info; nil removes it.
func fact(name string, value any) func() Fault {
	return document(infoPath, func(d any) any {
		if value == nil {
			delete(object(d), name)
		} else {
			object(d)[name] = value
		}
		return d
	})
}

// moveInfo is a fault that adds to a number of the history's info.
func moveInfo(name string, by int64) func() Fault {
	return document(infoPath, func(d any) any {
		number, _ := object(d)[name].(json.Number)
		if n, err := number.Int64(); err == nil && n+by >= 0 {
			object(d)[name] = n + by
		}
		return d
	})
}

// venue is a fault that leaves out logs of swaps at one venue, which is known by its first topic.
func venue(topic string) func() Fault {
	return events(func(e map[string]any) {
		list, _ := e["logs"].([]any)
		list = slices.DeleteFunc(list, func(log any) bool {
			topics, _ := object(log)["topics"].([]any)
			return len(topics) > 0 && topics[0] == topic
		})
		if e["logs"] = list; len(list) == 0 {
			e["logs"] = nil
		}
	})
}

// writeInTurn is a fault of a stream with one writer for all listeners: who does not read holds up
// the others.
func writeInTurn() Fault { return Fault{writer: new(sync.Mutex)} }

// streamMutants returns the mutants that are put before the event stream and its history.
func streamMutants() []Mutant {
	return []Mutant{
		{"stream-is-text-plain", "stream", "the stream is text/plain", []string{"STR-LIV-01"}, asks("/",
			func(e *Exchange) bool {
				return e.Request.URL.Path == "/" && e.say(http.StatusOK, "text/plain", ":ping\n\n")
			})},
		{"stream-records-have-no-gas-used", "stream", "records have no gasUsed", []string{"STR-LIT-01"},
			document(historyPath, func(d any) any {
				list, _ := d.([]any)
				for i := range list {
					delete(at(list[i], "hint"), "gasUsed")
				}
				return d
			})},
		{"stream-transactions-gas-limit-has-one-name", "stream", "a transaction's gas limit has one name",
			[]string{"STR-LIT-02"}, txs(func(tx map[string]any) {
				delete(tx, "gasLimit")
			})},
		{"stream-no-pings", "stream", "there are no pings", []string{"STR-LIV-02"}, lines(func(l string) (string, bool) {
			return l, l != ":ping" && l != ""
		})},
		{"stream-pings-are-messages", "stream", "pings are messages", []string{"STR-LIV-03"}, lines(func(l string) (string,
			bool) {
			return strings.Replace(l, ":ping", "data: :ping", 1), true
		})},
		{"stream-events-have-ids", "stream", "there are ids", []string{"STR-LIV-06"}, lines(func(l string) (string, bool) {
			if l == ":ping" || strings.HasPrefix(l, "data:") {
				return "id: 7\nretry: 1000\n" + l, true
			}
			return l, true
		})},
		{"stream-asks-for-key", "stream", "the stream asks for a key", []string{"STR-LIV-07", "STR-HIS-18"},
			asks("/", func(e *Exchange) bool { return e.say(http.StatusUnauthorized, jsonType, "{}") })},
		{"stream-events-named", "stream", "events are named", []string{"STR-LIV-05"}, lines(func(l string) (string, bool) {
			if strings.HasPrefix(l, "data:") {
				return "event: transaction\n" + l, true
			}
			return l, true
		})},
		{"stream-events-are-spread-over-two-lines", "stream", "events are spread over two lines", []string{"STR-LIV-04"},
			lines(func(l string) (string, bool) {
				return strings.Replace(l, "data: {", "data: \ndata: {", 1), true
			})},
		{"stream-every-second-event-lost", "stream", "every second event is lost", []string{"STR-LIV-09", "STR-LIV-10"},
			func() Fault {
				n := 0
				return Fault{Line: func(l string) (string, bool) {
					if strings.HasPrefix(l, "data:") {
						n++
					}
					return l, !strings.HasPrefix(l, "data:") || n%2 == 1
				}}
			}},
		{"stream-full-stream-answers-429", "stream", "a full stream answers 429", []string{"STR-LIV-15"}, status("/", 503,
			503, 429)},
		{"stream-hash-is-another", "stream", "hash is another", []string{"STR-EVT-01"}, events(func(e map[string]any) {
			e["hash"] = flip(e["hash"])
		})},
		{"stream-hash-is-in-capitals", "stream", "hash is in capitals", []string{"STR-EVT-02"},
			events(func(e map[string]any) {
				text, _ := e["hash"].(string)
				e["hash"] = "0x" + strings.ToUpper(strings.TrimPrefix(text, "0x"))
			})},
		{"stream-logs-left-out-when-there-are-none", "stream", "logs are left out when there are none",
			[]string{"STR-EVT-03"}, events(func(e map[string]any) {
				if e["logs"] == nil {
					delete(e, "logs")
				}
			})},
		{"stream-txs-is-empty-list-when-there-are-none", "stream", "txs is [] when there are none", []string{"STR-EVT-04"},
			events(func(e map[string]any) {
				if e["txs"] == nil {
					e["txs"] = []any{}
				}
			})},
		{"stream-txs-reversed", "stream", "txs stand on their heads", []string{"STR-EVT-06"}, events(func(e map[string]any) {
			list, _ := e["txs"].([]any)
			slices.Reverse(list)
		})},
		{"stream-two-elements-for-each-transaction", "stream", "there are two elements for each transaction",
			[]string{"STR-EVT-05"},
			events(func(e map[string]any) {
				list, _ := e["txs"].([]any)
				e["txs"] = append(list, list...)
			})},
		{"stream-sender-always-shared", "stream", "the sender is always shared", []string{"STR-EVT-07", "STR-HNT-25",
			"STR-HNT-02", "STR-HNT-04"},
			txs(func(tx map[string]any) { tx["from"] = "0x01" })},
		{"stream-gas-used-is-exact", "stream", "gasUsed is exact", []string{"STR-EVT-10"}, events(func(e map[string]any) {
			e["gasUsed"] = "0x1234567"
		})},
		{"stream-logs-lack-their-data", "stream", "logs lack their data", []string{"STR-EVT-08"},
			logs(func(l map[string]any) { delete(l, "data") })},
		{"stream-logs-have-index", "stream", "logs have an index", []string{"STR-EVT-09"}, logs(func(l map[string]any) {
			l["logIndex"] = "0x0"
		})},
		{"stream-every-event-comes-twice", "stream", "every event comes twice", []string{"STR-EVT-12"},
			lines(func(l string) (string, bool) {
				if strings.HasPrefix(l, "data:") {
					return l + "\n\n" + l, true
				}
				return l, true
			})},
		{"stream-events-tell-exact-time", "stream", "events tell the exact time", []string{"STR-EVT-15"},
			events(func(e map[string]any) {
				e["at"] = time.Now().UnixNano()
			})},
		{"stream-one-writer-serves-all-listeners-in-turn", "stream", "one writer serves all listeners in turn",
			[]string{"STR-LIV-10"}, writeInTurn},
		{"stream-swaps-at-uniswap-v2-not-known", "stream", "swaps at Uniswap v2 are not known", []string{"STR-HNT-08"},
			venue("0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822")},
		{"stream-swaps-at-uniswap-v3-not-known", "stream", "swaps at Uniswap v3 are not known", []string{"STR-HNT-08"},
			venue("0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67")},
		{"stream-swaps-at-curve-not-known", "stream", "swaps at Curve are not known", []string{"STR-HNT-08"},
			venue("0x8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140")},
		{"stream-swaps-at-balancer-not-known", "stream", "swaps at Balancer are not known", []string{"STR-HNT-09"},
			venue("0x2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b")},
		{"stream-swaps-at-uniswap-v4-not-known", "stream", "swaps at Uniswap v4 are not known", []string{"STR-HNT-09"},
			venue("0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f")},
		{"stream-access-lists-not-shared", "stream", "access lists are not shared", []string{"STR-HNT-17"},
			lacks("accessList")},
		{"stream-data-not-shared", "stream", "the data is not shared", []string{"STR-HNT-01"}, lacks("callData")},
		{"stream-selector-not-shared", "stream", "the selector is not shared", []string{"STR-HNT-03"},
			lacks("functionSelector")},
		{"stream-recipient-not-shared", "stream", "the recipient is not shared", []string{"STR-HNT-05"}, lacks("to")},
		{"stream-hash-of-transaction-not-shared", "stream", "the hash of a transaction is not shared",
			[]string{"STR-HNT-13"}, lacks("hash")},
		{"stream-no-logs-shared", "stream", "no logs are shared", []string{"STR-HNT-06", "STR-HNT-07"},
			events(func(e map[string]any) {
				e["logs"] = nil
			})},
		{"stream-logs-have-made-up-data", "stream", "logs have made-up data", []string{"STR-HNT-07", "STR-HNT-08",
			"STR-HNT-21"},
			logs(func(l map[string]any) {
				if l["data"] == "0x" {
					l["data"] = "0x01"
				}
			})},
		{"stream-logs-have-their-first-topic-only", "stream", "logs have their first topic only", []string{"STR-HNT-08",
			"STR-HNT-09"},
			logs(func(l map[string]any) {
				if topics, is := l["topics"].([]any); is && len(topics) > 1 {
					l["topics"] = topics[:1]
				}
			})},
		{"stream-nonces-not-shared", "stream", "nonces are not shared", []string{"STR-HNT-14"}, lacks("nonce")},
		{"stream-fees-not-shared", "stream", "fees are not shared", []string{"STR-HNT-15"}, lacks("maxFeePerGas")},
		{"stream-types-not-shared", "stream", "types are not shared", []string{"STR-HNT-17"}, lacks("type")},
		{"stream-signatures-shared", "stream", "signatures are shared", []string{"STR-HNT-18"},
			txs(func(tx map[string]any) { tx["v"] = "0x1" })},
		{"stream-numbers-have-leading-zeros", "stream", "numbers have leading zeros", []string{"STR-HNT-19"},
			txs(func(tx map[string]any) {
				tx["value"] = "0x01"
			})},
		{"stream-chain-ids-are-another-networks", "stream", "chain ids are another network's", []string{"STR-NET-01",
			"STR-HNT-14"},
			txs(func(tx map[string]any) { tx["chainId"] = "0x1" })},
		{"stream-hash-alone-shares-recipient", "stream", "hash alone shares a recipient", []string{"STR-HNT-11"},
			events(func(e map[string]any) {
				if e["txs"] == nil {
					e["txs"] = []any{map[string]any{"to": "0x01"}}
				}
			})},
		{"stream-no-hash", "stream", "there is no hash", []string{"STR-HNT-12"}, events(func(e map[string]any) {
			delete(e,
				"hash")
		})},
		{"stream-unnamed-logs-pass-as-swaps", "stream", "unnamed logs pass as swaps", []string{"STR-HNT-10"},
			events(func(e map[string]any) {
				if e["logs"] == nil {
					e["logs"] = []any{map[string]any{"address": "0x", "topics": []any{}, "data": "0x"}}
				}
			})},

		{"stream-min-block-is-one-too-low", "stream", "minBlock is one too low", []string{"STR-INF-03"}, moveInfo("minBlock",
			-1)},
		{"stream-max-block-is-one-too-high", "stream", "maxBlock is one too high", []string{"STR-INF-04"},
			moveInfo("maxBlock",
				1)},
		{"stream-min-timestamp-is-one-too-early", "stream", "minTimestamp is one too early", []string{"STR-INF-05"},
			moveInfo("minTimestamp", -1)},
		{"stream-min-timestamp-is-one-too-late", "stream", "minTimestamp is one too late", []string{"STR-INF-05"},
			moveInfo("minTimestamp", 1)},
		{"stream-max-timestamp-is-one-too-late", "stream", "maxTimestamp is one too late", []string{"STR-INF-06"},
			moveInfo("maxTimestamp", 1)},
		{"stream-count-is-one-too-high", "stream", "count is one too high", []string{"STR-INF-09"}, moveInfo("count", 1)},
		{"stream-count-is-one-too-low", "stream", "count is one too low", []string{"STR-INF-09"}, moveInfo("count", -1)},
		{"stream-info-is-array", "stream", "info is an array", []string{"STR-INF-01"}, document(infoPath, func(d any) any {
			return []any{d}
		})},
		{"stream-count-is-missing", "stream", "count is missing", []string{"STR-INF-02", "STR-INF-08"}, fact("count", nil)},
		{"stream-count-stands-still", "stream", "count stands still", []string{"STR-INF-09"}, fact("count", 1)},
		{"stream-min-block-is-too-high", "stream", "minBlock is too high", []string{"STR-INF-03"}, fact("minBlock",
			9_000_000)},
		{"stream-max-block-is-too-low", "stream", "maxBlock is too low", []string{"STR-INF-04"}, fact("maxBlock", 0)},
		{"stream-min-timestamp-is-too-early", "stream", "minTimestamp is too early", []string{"STR-INF-05", "STR-HIS-09"},
			fact("minTimestamp", 1)},
		{"stream-max-timestamp-is-too-late", "stream", "maxTimestamp is too late", []string{"STR-INF-06"},
			fact("maxTimestamp", 9_000_000_000)},
		{"stream-max-limit-is-0", "stream", "maxLimit is 0", []string{"STR-INF-07"}, fact("maxLimit", 0)},
		{"stream-pages-are-objects", "stream", "pages are objects", []string{"STR-HIS-01", "STR-HIS-14"},
			document(historyPath, func(d any) any {
				return map[string]any{"hints": d}
			})},
		{"stream-blocks-are-others", "stream", "blocks are others", []string{"STR-HIS-02"}, records(func(r map[string]any) {
			r["block"] = 9_000_000
		})},
		{"stream-times-are-milliseconds", "stream", "times are milliseconds", []string{"STR-HIS-03"},
			records(func(r map[string]any) {
				r["timestamp"] = time.Now().UnixMilli()
			})},
		{"stream-history-holds-other-hints", "stream", "the history holds other hints", []string{"STR-HIS-04"},
			records(func(r map[string]any) {
				object(r["hint"])["more"] = true
			})},
		{"stream-limit-ignored", "stream", "limit is ignored", []string{"STR-HIS-05"}, dropParams(historyPath, "limit")},
		{"stream-offset-ignored", "stream", "offset is ignored", []string{"STR-HIS-08"}, dropParams(historyPath, "offset")},
		{"stream-block-start-ignored", "stream", "blockStart is ignored", []string{"STR-HIS-10", "STR-HIS-14", "STR-HIS-15",
			"STR-HIS-16"},
			dropParams(historyPath, "blockStart")},
		{"stream-block-end-excludes", "stream", "blockEnd excludes", []string{"STR-HIS-11"}, shiftParam("blockEnd", -1)},
		{"stream-timestamp-start-excludes", "stream", "timestampStart excludes", []string{"STR-HIS-12"},
			shiftParam("timestampStart", 1)},
		{"stream-timestamp-end-excludes", "stream", "timestampEnd excludes", []string{"STR-HIS-13"},
			shiftParam("timestampEnd",
				-1)},
		{"stream-wrong-queries-answered-with-empty-list", "stream", "wrong queries are answered with []",
			[]string{"STR-HIS-15", "STR-HIS-16"},
			answers(historyPath, func(e *Exchange) {
				if e.Status == http.StatusBadRequest {
					e.say(http.StatusOK, jsonType, "[]")
				}
			})},
		{"stream-unknown-parameters-refused", "stream", "unknown parameters are refused", []string{"STR-HIS-17"},
			asks(historyPath, func(e *Exchange) bool {
				return strings.Contains(e.Request.URL.RawQuery, "conformance") && e.say(http.StatusBadRequest, jsonType, "{}")
			})},
		{"stream-unknown-methods-and-paths-are-fine", "stream", "unknown methods and paths are fine", []string{"STR-HIS-22",
			"STR-HIS-23"},
			status("/", 404, 405, 200)},
		{"stream-history-lags-far-behind", "stream", "the history lags far behind", []string{"STR-HIS-19"},
			document(historyPath, func(d any) any {
				list, is := d.([]any)
				if !is {
					return d // an object: the answer is the info and no list
				}
				return slices.DeleteFunc(list, func(r any) bool {
					number, _ := object(r)["timestamp"].(json.Number)
					at, err := number.Int64()
					return err == nil && time.Since(time.Unix(at, 0)) < time.Minute
				})
			})},
		{"stream-post-refused-with-400", "stream", "POST is refused with 400", []string{"STR-HIS-20"}, asks(historyPath,
			func(e *Exchange) bool {
				return e.Request.Method == http.MethodPost && e.say(http.StatusBadRequest, jsonType, "{}")
			})},
		{"stream-what-not-shared-left-out-of-records", "stream", "what is not shared is left out of records",
			[]string{"STR-HIS-21"},
			records(func(r map[string]any) {
				if hint := object(r["hint"]); hint["txs"] == nil {
					delete(hint, "txs")
					delete(hint, "logs")
				}
			})},
		{"stream-max-limit-is-less-than-page-has", "stream", "maxLimit is less than a page has", []string{"STR-HIS-06"},
			fact("maxLimit", 1)},
		{"stream-page-has-one-record-too-many", "stream", "a page has one record too many", []string{"STR-HIS-05"},
			document(historyPath, func(d any) any {
				list, _ := d.([]any)
				if len(list) == 0 {
					return d
				}
				return append(list, list[0])
			})},
	}
}

// shiftParam is a fault that adds a number to a parameter of the history.
func shiftParam(name string, by int64) func() Fault {
	return asks(historyPath, func(e *Exchange) bool {
		query := e.Request.URL.Query()
		if n, err := strconv.ParseInt(query.Get(name), 10, 64); err == nil {
			query.Set(name, strconv.FormatInt(n+by, 10))
			e.Request.URL.RawQuery = query.Encode()
		}
		return false
	})
}
