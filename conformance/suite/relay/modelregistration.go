package relay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// The model of registrations: requests with several registrations of the restless validator,
// newer and older ones in any order, beside others' that are right or wrong. It knows which
// registrations a relay may hold afterwards. That is one, unless the request has something wrong
// in it: then a relay may keep what is right in it, all, some or nothing. So a right registration
// beside a newer forged one is never a false alarm.

// The kinds of an entry of a request.
const (
	signing    = "right"              // of the restless validator
	forgedAt   = "forged"             // of the restless validator, signed by somebody else
	ofNobody   = "of no validator"    // right, of a key that is no validator
	ofAnother  = "of another"         // right, of a validator that registers the same again
	gasLimitOf = "of a new gas limit" // right, of the restless validator, with the fee recipient of the first one
)

// registered is an entry of a request. Its age is the order of timestamps: a higher one is newer.
type registered struct {
	kind string
	age  int
}

// batch is a request of a plan.
type batch []registered

// String implements fmt.Stringer.
func (b batch) String() string {
	words := make([]string, len(b))
	for i, e := range b {
		words[i] = fmt.Sprintf("%s, time %d", e.kind, e.age)
	}
	return "register [" + strings.Join(words, "; ") + "]"
}

// ours says whether the entry is a right one of the restless validator.
func (e registered) ours() bool { return e.kind == signing || e.kind == gasLimitOf }

// wrong says whether a relay refuses the request.
func (b batch) wrong() bool {
	return slices.ContainsFunc(b, func(e registered) bool { return e.kind == forgedAt || e.kind == ofNobody })
}

// after are the ages that a relay may hold after a request, if it may hold these before; 0 is
// what it held before the plan.
func (b batch) after(before []int) (may []int) {
	for _, age := range before {
		ages := []int{age}
		for _, e := range b {
			switch {
			case !e.ours() || e.age <= age:
			case b.wrong():
				ages = append(ages, e.age)
			default:
				ages[0] = max(ages[0], e.age)
			}
		}
		may = append(may, ages...)
	}
	slices.Sort(may)
	return slices.Compact(may)
}

// registrationPlan makes random requests. Each time has one registration of the validator, which
// may be sent again.
func registrationPlan(random *rand.Rand, batches int) (plan []batch) {
	kinds := map[int]string{}
	for n := range batches {
		var b batch
		kindsHere := []string{signing, gasLimitOf, ofAnother}
		if random.IntN(3) == 0 { // most requests are right
			kindsHere = append(kindsHere, forgedAt, ofNobody)
		}
		for range 2 + random.IntN(4) {
			e := registered{kind: signing}
			if random.IntN(2) == 0 {
				e.kind = kindsHere[random.IntN(len(kindsHere))]
			}
			if e.age = 2*n + 1 + random.IntN(3); random.IntN(6) == 0 {
				e.age = 1 + random.IntN(e.age)
			}
			if e.ours() {
				if kinds[e.age] == "" {
					kinds[e.age] = e.kind
				}
				e.kind = kinds[e.age]
			}
			b = append(b, e)
		}
		plan = append(plan, b)
	}
	return plan
}

const (
	registrationBatches = 5
	// registrationTries is low, because each play needs times of its own: a registration may not
	// be of a time that is far ahead.
	registrationTries = 3
)

// describeRegistrationModel: what is kept of random requests.
func describeRegistrationModel(r *specs) {
	r.It("REL-MOD-05", "keeps the newest right registration of random requests", func(t *suite.T) {
		suite.JudgePlan(t, registrationPlan(t.Random, registrationBatches), registrationTries,
			func(steps []batch) *suite.Mismatch { return r.playRegistrations(t, steps) })
	})
}

// playRegistrations sends the requests, and compares after each what the Data API holds, and after
// the last one what the duties carry.
func (r *specs) playRegistrations(t *suite.T, steps []batch) *suite.Mismatch {
	byAge := r.aged(t, steps)
	t.Prepared(sendRegistrations(t.Preparing(), byAge[0]), "register", http.StatusOK)
	t.Ready(waitHeld(t, byAge[0]), "see the registration in the data API")
	may := []int{0}
	for i, b := range steps {
		answer := sendRegistrations(t, r.entries(t, b, byAge)...)
		if statuses := b.statuses(may); !slices.Contains(statuses, answer.Status) {
			clause := "REL-REG-01"
			if b.wrong() {
				clause = "REL-REG-02"
			}
			return &suite.Mismatch{Step: i, Clauses: []string{clause},
				Expected: fmt.Sprintf("one of %v", statuses), Actual: answer}
		}
		want := b.after(may)
		var held int
		err := t.Eventually(t.Target.Budgets.Settle(), func() (err error) {
			if held, err = heldAge(t, byAge); err == nil && !slices.Contains(want, held) {
				err = fmt.Errorf("it holds that of time %d", held)
			}
			return err
		})
		if err != nil {
			return &suite.Mismatch{Step: i, Clauses: []string{"REL-REG-03", "REL-DAT-27"},
				Expected: fmt.Sprintf("the registration of one of the times %v in the data API", want), Actual: err}
		}
		if may = want; !b.wrong() {
			may = []int{held}
		}
	}
	return lasts(t, byAge, may, len(steps)-1)
}

// lasts compares once more after a moment: what came late must not replace what is newer, neither
// in the Data API nor among the duties.
func lasts(t *suite.T, byAge map[int]*builderv1.SignedValidatorRegistration, may []int, step int) *suite.Mismatch {
	t.Until(t.Now().Add(heldWithin))
	if held, err := heldAge(t, byAge); err != nil || !slices.Contains(may, held) {
		return &suite.Mismatch{Step: step, Clauses: []string{"REL-REG-03"},
			Expected: fmt.Sprintf("the times %v to stay", may), Actual: fmt.Sprint(held, err)}
	}
	if len(may) > 1 || unlisted(t, byAge[0]) {
		return nil
	}
	if err := dutyCarries(t, byAge[may[0]]); err != nil && !unlisted(t, byAge[0]) {
		return &suite.Mismatch{Step: step, Clauses: []string{"REL-REG-13"},
			Expected: fmt.Sprintf("a duty with the registration of time %d", may[0]), Actual: err}
	}
	return nil
}

// unlisted says whether no duty is the validator's: then none can carry its registration.
func unlisted(t *suite.T, one *builderv1.SignedValidatorRegistration) bool {
	duties, err := listDuties(t)
	return err == nil && !slices.ContainsFunc(duties, func(d duty) bool {
		return d.Entry != nil && d.Entry.Message.Pubkey == one.Message.Pubkey
	})
}

// statuses are the statuses that a request may have, if the relay may hold these ages. A key that
// is no validator is refused, and so is a forged registration that is newer than all others. One
// that is not the newest may be ignored, whoever signed it, or refused.
func (b batch) statuses(held []int) []int {
	newest := slices.Max(held)
	for _, e := range b {
		if e.ours() {
			newest = max(newest, e.age)
		}
	}
	either := false
	for _, e := range b {
		if e.kind == ofNobody || e.kind == forgedAt && e.age > newest {
			return []int{http.StatusBadRequest}
		}
		either = either || e.kind == forgedAt || e.ours() && e.age < newest
	}
	if either {
		return []int{http.StatusOK, http.StatusBadRequest}
	}
	return []int{http.StatusOK}
}

// aged makes the registrations of all times of a plan, the oldest first, each newer than any
// before.
func (r *specs) aged(t *suite.T, steps []batch) map[int]*builderv1.SignedValidatorRegistration {
	var ages []int
	kinds := map[int]string{}
	for _, b := range steps {
		for _, e := range b {
			ages = append(ages, e.age)
			if e.ours() {
				kinds[e.age] = e.kind
			}
		}
	}
	slices.Sort(ages)
	base := r.freshRegistration(t)
	byAge := map[int]*builderv1.SignedValidatorRegistration{0: base}
	for _, age := range slices.Compact(ages) {
		if byAge[age] = r.freshRegistration(t); kinds[age] == gasLimitOf {
			byAge[age].Message.FeeRecipient, byAge[age].Message.GasLimit = base.Message.FeeRecipient, gasLimit-uint64(age)
			sign(t, byAge[age], r.validators(t)[t.World.Facts.Restless()])
		}
	}
	return byAge
}

// entries are the registrations of a request.
func (r *specs) entries(t *suite.T, b batch,
	byAge map[int]*builderv1.SignedValidatorRegistration) (list []*builderv1.SignedValidatorRegistration) {
	for _, e := range b {
		one := byAge[e.age]
		switch e.kind {
		case forgedAt:
			message := *one.Message
			message.FeeRecipient = bellatrix.ExecutionAddress{0xf0, byte(e.age)}
			one = &builderv1.SignedValidatorRegistration{Message: &message}
			sign(t, one, probe.DeriveBLSKey("somebody else"))
		case ofNobody:
			one = registration(t, probe.DeriveBLSKey("nobody"), payee(1), one.Message.Timestamp)
		case ofAnother:
			one = registration(t, r.validators(t)[0], payee(0), t.Now())
		}
		list = append(list, one)
	}
	return list
}

// heldAge is the age of the registration that the Data API holds; the error says what else it
// holds.
func heldAge(t *suite.T, byAge map[int]*builderv1.SignedValidatorRegistration) (int, error) {
	pubkey := byAge[0].Message.Pubkey
	answer := t.Get(dataAPI(t), fmt.Sprintf("/relay/v1/data/validator_registration?pubkey=%#x", pubkey[:]))
	got := new(builderv1.SignedValidatorRegistration)
	if err := json.Unmarshal(answer.Body, got); err != nil {
		return -1, fmt.Errorf("no registration: %s", answer)
	}
	for age, one := range byAge {
		if *one.Message == *got.Message && one.Signature == got.Signature {
			return age, nil
		}
	}
	return -1, fmt.Errorf("a registration that nobody signed, of %s for %s",
		got.Message.Timestamp.UTC().Format(time.TimeOnly), got.Message.FeeRecipient)
}
