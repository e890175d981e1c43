package observe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
)

func TestOnTheWay(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 250_000_000, time.UTC)
	for _, row := range []struct {
		header, value string
		want          time.Duration // negative: it says nothing
	}{
		{"", "", -1},
		{"X-Send-Ts", "2026-11-23T12:00:00.2Z", 50 * time.Millisecond},
		{"X-Send-Ts", "2026-11-23T12:00:00.249999999Z", time.Nanosecond},
		{"X-Send-Ts", "2026-11-23T14:00:00.2+02:00", 50 * time.Millisecond},
		{"X-Send-Ts", "2026-11-23T12:00:01.2Z", 0},  // its clock is a little ahead
		{"X-Send-Ts", "2026-11-23T12:00:01.3Z", -1}, // or wrong
		{"X-Send-Ts", "2026-11-23T11:59:00.25Z", time.Minute},
		{"X-Send-Ts", "2026-11-23T11:59:00Z", -1},
		{"X-Send-Ts", "1795435200200", -1},
		{"X-Send-Ts", "", -1},
		{"Date-Milliseconds", "1795435200200", 50 * time.Millisecond},
		{"Date-Milliseconds", "1795435200", -1}, // seconds
		{"Date-Milliseconds", "-9223372036854775808", -1},
		{"Date-Milliseconds", "9223372036854775807", -1},
		{"Date-Milliseconds", "soon", -1},
	} {
		h := http.Header{}
		if row.header != "" {
			h.Set(row.header, row.value)
		}
		got, told := onTheWay(h, func() time.Time { return at })
		if told != (row.want >= 0) || told && got != row.want {
			t.Errorf("%s %q: %s, %t, want %s", row.header, row.value, got, told, row.want)
		}
	}
}

// The time on the way is counted by the path pattern, for requests that say when they were sent.
func TestTheWayToTheServerIsMeasured(t *testing.T) {
	registry := prometheus.NewRegistry()
	watch := NewHTTP(NewSet(registry), nil)
	for _, sent := range []string{"", time.Now().Format(time.RFC3339Nano), "nonsense"} {
		r := httptest.NewRequest(http.MethodPost, "/item/1", http.NoBody)
		if sent != "" {
			r.Header.Set("X-Send-Ts", sent)
		}
		_, done := watch.Begin(r)
		done(serve.Exchange{Pattern: "/item/{id}", Method: http.MethodPost, Status: http.StatusOK})
	}
	text := golden.Metrics(t, registry)
	if !strings.Contains(text, `gavel_http_client_to_server_seconds_count{endpoint="/item/{id}"} 1`) {
		t.Error(text)
	}
}
