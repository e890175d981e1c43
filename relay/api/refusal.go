package api

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// Refuse answers with an error. If the error is not a refusal of the relay, it is a defect of the
// relay: the answer is 500 without the error's text.
func Refuse(w http.ResponseWriter, r *http.Request, err error) { Statuses.Refuse(w, r, err) }

// Statuses says with which HTTP status each refusal of the relay is answered.
var Statuses = serve.Statuses{
	// Refusals of every interface.
	relay.NotFound.ID:             http.StatusNotFound,
	relay.MethodNotAllowed.ID:     http.StatusMethodNotAllowed,
	relay.NotAcceptable.ID:        http.StatusNotAcceptable,
	relay.UnsupportedMediaType.ID: http.StatusUnsupportedMediaType,
	relay.BodyTooLarge.ID:         http.StatusRequestEntityTooLarge,
	relay.BodyUnreadable.ID:       http.StatusBadRequest,
	relay.Malformed.ID:            http.StatusBadRequest,
	relay.UnknownFork.ID:          http.StatusBadRequest,
	relay.WrongFork.ID:            http.StatusBadRequest,
	relay.RateLimited.ID:          http.StatusTooManyRequests,
	relay.Overloaded.ID:           http.StatusServiceUnavailable,
	relay.Internal.ID:             http.StatusInternalServerError,
	relay.NotReady.ID:             http.StatusServiceUnavailable,

	// Refusals of registerValidator.
	relay.RegistrationsInvalid.ID:         http.StatusBadRequest,
	relay.RegistrationsTooMany.ID:         http.StatusRequestEntityTooLarge,
	relay.RegistrationTooEarly.ID:         http.StatusBadRequest,
	relay.RegistrationTooLate.ID:          http.StatusBadRequest,
	relay.RegistrationUnknownValidator.ID: http.StatusBadRequest,
	relay.RegistrationSignature.ID:        http.StatusBadRequest,

	// Refusals of getHeader.
	relay.InvalidSlot.ID:   http.StatusBadRequest,
	relay.InvalidPubkey.ID: http.StatusBadRequest,
	relay.InvalidHash.ID:   http.StatusBadRequest,
	relay.SlotTooOld.ID:    http.StatusBadRequest,

	// Refusals of the Builder API from gloas on.
	relay.InvalidDeadline.ID:        http.StatusBadRequest,
	relay.BeforeGloas.ID:            http.StatusBadRequest,
	relay.AuthData.ID:               http.StatusBadRequest,
	relay.AuthSlot.ID:               http.StatusBadRequest,
	relay.AuthSignature.ID:          http.StatusUnauthorized,
	relay.PreferencesNotProposer.ID: http.StatusBadRequest,
	relay.PreferencesNotKept.ID:     http.StatusServiceUnavailable,

	// Refusals of a builder's submission, cheap checks first.
	relay.SubmissionPastSlot.ID:        http.StatusBadRequest,
	relay.SubmissionNoDuty.ID:          http.StatusBadRequest,
	relay.SubmissionWrongProposer.ID:   http.StatusBadRequest,
	relay.SubmissionFeeRecipient.ID:    http.StatusBadRequest,
	relay.SubmissionTimestamp.ID:       http.StatusBadRequest,
	relay.SubmissionBlockHash.ID:       http.StatusBadRequest,
	relay.SubmissionParentHash.ID:      http.StatusBadRequest,
	relay.SubmissionTraceGasLimit.ID:   http.StatusBadRequest,
	relay.SubmissionTraceGasUsed.ID:    http.StatusBadRequest,
	relay.SubmissionGasLimitChanged.ID: http.StatusBadRequest,
	relay.SubmissionNoAttributes.ID:    http.StatusBadRequest,
	relay.SubmissionBlockNumber.ID:     http.StatusBadRequest,
	relay.SubmissionSlotNumber.ID:      http.StatusBadRequest,
	relay.SubmissionPrevRandao.ID:      http.StatusBadRequest,
	relay.SubmissionWithdrawals.ID:     http.StatusBadRequest,
	relay.SubmissionBlobCounts.ID:      http.StatusBadRequest,
	relay.SubmissionBlobLimit.ID:       http.StatusBadRequest,
	relay.SubmissionDelivered.ID:       http.StatusBadRequest,
	relay.SubmissionSignature.ID:       http.StatusBadRequest,
	relay.SubmissionBuilderKey.ID:      http.StatusBadRequest,
	relay.SubmissionStale.ID:           http.StatusBadRequest,
	relay.SubmissionInvalid.ID:         http.StatusBadRequest,
	relay.SubmissionUnverifiable.ID:    http.StatusServiceUnavailable,
	relay.SubmissionCrowded.ID:         http.StatusServiceUnavailable,
	relay.SubmissionTimeout.ID:         http.StatusGatewayTimeout,
	relay.SubmissionCancellations.ID:   http.StatusBadRequest,
	relay.SubmissionBlocked.ID:         http.StatusForbidden,
	relay.APIKeyUnknown.ID:             http.StatusUnauthorized,
	relay.APIKeyNeeded.ID:              http.StatusUnauthorized,
	relay.APIKeyOtherBuilder.ID:        http.StatusForbidden,
	relay.HeaderNotTrusted.ID:          http.StatusForbidden,
	relay.HeaderPayloadMismatch.ID:     http.StatusBadRequest,
	relay.SubmissionOtherPayload.ID:    http.StatusBadRequest,
	relay.SubmissionEscrowDown.ID:      http.StatusServiceUnavailable,
	relay.SubmissionAuctionDown.ID:     http.StatusServiceUnavailable,
	relay.SubmissionEscrowCrowded.ID:   http.StatusServiceUnavailable,
	relay.SubmissionSequence.ID:        http.StatusBadRequest,
	relay.SubmissionHydrationForm.ID:   http.StatusBadRequest,
	relay.SubmissionNotHydratable.ID:   http.StatusBadRequest,

	// Refusals of bids that staked builders have signed themselves, and of their envelopes.
	relay.StakedBidSlot.ID:         http.StatusBadRequest,
	relay.StakedBidBuilder.ID:      http.StatusBadRequest,
	relay.StakedBidNotHigher.ID:    http.StatusBadRequest,
	relay.StakedBidTooMany.ID:      http.StatusBadRequest,
	relay.StakedBidPreferences.ID:  http.StatusBadRequest,
	relay.StakedBidParent.ID:       http.StatusBadRequest,
	relay.StakedBidTerms.ID:        http.StatusBadRequest,
	relay.StakedBidPromise.ID:      http.StatusBadRequest,
	relay.StakedBidBalance.ID:      http.StatusBadRequest,
	relay.StakedBidSignature.ID:    http.StatusBadRequest,
	relay.StakedBidContents.ID:     http.StatusBadRequest,
	relay.StakedBidNotKept.ID:      http.StatusServiceUnavailable,
	relay.StakedEnvelopeUnknown.ID: http.StatusBadRequest,
	relay.StakedEnvelopeWrong.ID:   http.StatusBadRequest,

	// Refusals of submitBlindedBlock.
	relay.PayloadUnknownProposer.ID: http.StatusBadRequest,
	relay.PayloadSignature.ID:       http.StatusBadRequest,
	relay.PayloadUnknown.ID:         http.StatusBadRequest,
	relay.PayloadHeaderMismatch.ID:  http.StatusBadRequest,
	relay.PayloadOther.ID:           http.StatusBadRequest,
	relay.PayloadEarlierSlot.ID:     http.StatusBadRequest,
	relay.PayloadTooLate.ID:         http.StatusBadRequest,
	relay.PayloadNotPublished.ID:    http.StatusBadRequest,
	relay.PayloadEscrowDown.ID:      http.StatusServiceUnavailable,
	relay.PayloadGuardDown.ID:       http.StatusServiceUnavailable,

	// Refusals of the stream of top bids.
	relay.WebSocketNeeded.ID:  http.StatusUpgradeRequired,
	relay.TooManyListeners.ID: http.StatusServiceUnavailable,

	// Refusals of the Data API.
	relay.InvalidArgument.ID:      http.StatusBadRequest,
	relay.ArgumentConflict.ID:     http.StatusBadRequest,
	relay.ArgumentMissing.ID:      http.StatusBadRequest,
	relay.LimitTooHigh.ID:         http.StatusBadRequest,
	relay.RegistrationNotFound.ID: http.StatusBadRequest,
	relay.ArchiveUnavailable.ID:   http.StatusServiceUnavailable,

	// Refusals of the admin API.
	relay.AdminToken.ID:      http.StatusUnauthorized,
	relay.BuilderUnknown.ID:  http.StatusNotFound,
	relay.BuilderInvalid.ID:  http.StatusBadRequest,
	relay.EvidenceUnknown.ID: http.StatusNotFound,
	relay.AdminNotKept.ID:    http.StatusServiceUnavailable,
	relay.AdminForm.ID:       http.StatusForbidden,
	relay.AdminReason.ID:     http.StatusBadRequest,
	relay.AdminLogins.ID:     http.StatusTooManyRequests,
}
