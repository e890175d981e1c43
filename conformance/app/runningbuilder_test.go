package app

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
)

// judgeRunning starts a world and gavel's own builder, which knows the relays by their addresses
// only and finds nobody there yet. Then it judges that builder as `conformance run --builder
// running --world URL --relays-listen ADDRESS` does.
func judgeRunning(t *testing.T, o Options) {
	t.Helper()
	opened := openWorldOf(t, &target.Builder{Running: true}, world.Config{Slot: time.Second})
	around, err := world.Dial(t.Context(), opened.Target.Chain.WorldURL)
	if err != nil {
		t.Fatal(err)
	}
	listen := ownHost()
	var urls []string
	for i := range scripted.Names {
		urls = append(urls, fmt.Sprintf("http://%s:%d", listen, 9200+i))
	}
	stop, err := runOwnBuilder(t.Context(), &scripted.Auctions{World: around, Clock: clock.Real{}}, urls,
		opened.World)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	j := Judgement{
		Options: o, RelaysListen: listen + ":9200", Out: filepath.Dir(os.Getenv(foreignOut)), Said: t.Output(),
		Source: Source{Notes: t.Output(), Target: opened.Target},
	}
	if err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// ownHost is an address of this machine that nobody else uses: relays have fixed ports.
func ownHost() string { return fmt.Sprintf("127.%d.%d.1", 2+rand.IntN(250), rand.IntN(250)) }

// If no builder comes, nothing is judged, and the run says where it was waited for.
func TestRunningBuilderThatNeverComes(t *testing.T) {
	opened := openWorldOf(t, &target.Builder{Running: true}, world.Config{Slot: time.Second})
	listen := ownHost()
	err := Judgement{
		Options:         Options{Most: clauses.White},
		BuilderPatience: time.Millisecond, RelaysListen: listen + ":9200", Said: t.Output(),
		Source: Source{Notes: t.Output(), Target: opened.Target},
	}.Run(t.Context())
	var status Status
	if !errors.As(WithStatus(err), &status) || status.Code != clauses.Unusable {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"asks no relay for anything within 1ms", "follows the world at http://",
		listen + ":9200", listen + ":9201", listen + ":9202"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
