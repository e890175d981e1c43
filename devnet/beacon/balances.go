package beacon

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
)

// stateRootOf answers with a state's emulated root (beacon-APIs, getStateRoot).
func (b *Beacon) stateRootOf(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, map[string]string{"root": hexOf(block.header.Message.StateRoot[:])}, b.settled(block))
}

// validator answers with one row of the validator table (beacon-APIs, getStateValidator).
func (b *Beacon) validator(w http.ResponseWriter, r *http.Request) {
	state, err := b.findState(r.PathValue("state_id"))
	var indices []int
	if err == nil {
		indices, err = b.indices([]string{r.PathValue("validator_id")})
	}
	if err == nil && len(indices) == 0 {
		err = problem{http.StatusNotFound, "no such validator"}
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, b.validatorOf(indices[0]), b.settled(state))
}

// balances lists the balances of the validators of ?id=, or of all (beacon-APIs,
// getStateValidatorBalances).
func (b *Beacon) balances(w http.ResponseWriter, r *http.Request) {
	ids := queryList(r, "id")
	if len(ids) > maxIDs {
		serve.Refuse(w, r, problem{http.StatusRequestURITooLong, fmt.Sprintf("%d ids, at most %d: use POST",
			len(ids), maxIDs)})
		return
	}
	indices, err := b.indices(ids)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.listBalances(w, r, indices)
}

func (b *Beacon) balancesPosted(w http.ResponseWriter, r *http.Request) {
	if indices, ok := b.postedValidators(w, r); ok {
		b.listBalances(w, r, indices)
	}
}

func (b *Beacon) listBalances(w http.ResponseWriter, r *http.Request, indices []int) {
	state, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	list := []any{}
	for _, index := range indices {
		list = append(list, map[string]string{"index": strconv.Itoa(index), "balance": validatorBalance})
	}
	data(w, r, list, b.settled(state))
}

// pendingNothing answers for the queues of electra's states, which are always empty here
// (beacon-APIs, getPendingDeposits and similar).
func (b *Beacon) pendingNothing(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	extra := b.settled(block)
	extra["version"] = block.Fork.String()
	w.Header().Set(versionHeader, block.Fork.String())
	data(w, r, []any{}, extra)
}
