package jsonrpc

import (
	"net/http"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

// Codes of JSON-RPC 2.0, and of the services that clients already know.
const (
	codeParse         = -32700
	codeRequest       = -32600
	codeMethod        = -32601
	codeParams        = -32602
	codeInternal      = -32603
	codeServer        = -32000
	codeLimitExceeded = -32005
	codeSignature     = -32025
)

// Form is how a refusal is answered.
type Form struct {
	// Code is the code of the JSON-RPC error.
	Code int
	// Status is the HTTP status if the refusal is the answer to the HTTP request as a whole.
	Status int
}

// Forms says how each refusal of the service is answered, by its id.
var Forms = map[string]Form{
	// The envelope.
	rpc.ParseError.ID:           {codeParse, http.StatusOK},
	rpc.InvalidRequest.ID:       {codeRequest, http.StatusOK},
	rpc.BodyTooLarge.ID:         {codeRequest, http.StatusRequestEntityTooLarge},
	rpc.BodyUnreadable.ID:       {codeRequest, http.StatusBadRequest},
	rpc.UnsupportedMediaType.ID: {codeRequest, http.StatusUnsupportedMediaType},
	rpc.NotFound.ID:             {codeRequest, http.StatusNotFound},
	rpc.MethodNotAllowed.ID:     {codeRequest, http.StatusMethodNotAllowed},
	rpc.MethodNotFound.ID:       {codeMethod, http.StatusOK},
	rpc.InvalidParams.ID:        {codeParams, http.StatusOK},
	rpc.RateLimited.ID:          {codeLimitExceeded, http.StatusTooManyRequests},
	rpc.Overloaded.ID:           {codeLimitExceeded, http.StatusServiceUnavailable},
	rpc.Internal.ID:             {codeInternal, http.StatusOK},

	// The signature. The detail says which step failed.
	rpc.SignatureMissing.ID:   {codeRequest, http.StatusForbidden},
	rpc.SignatureMalformed.ID: {codeSignature, http.StatusForbidden},
	rpc.SignatureMismatch.ID:  {codeSignature, http.StatusForbidden},

	// Bundles.
	rpc.BundleUndecodable.ID:       {codeServer, http.StatusOK},
	rpc.BundleEmpty.ID:             {codeServer, http.StatusOK},
	rpc.BundleTooManyTxs.ID:        {codeServer, http.StatusOK},
	rpc.BundleTooLarge.ID:          {codeServer, http.StatusOK},
	rpc.BundleMissingBlock.ID:      {codeServer, http.StatusOK},
	rpc.BundleVersion.ID:           {codeServer, http.StatusOK},
	rpc.BundleTooDeep.ID:           {codeServer, http.StatusOK},
	rpc.InvalidInclusion.ID:        {codeServer, http.StatusOK},
	rpc.InvalidBody.ID:             {codeServer, http.StatusOK},
	rpc.InvalidBodySize.ID:         {codeServer, http.StatusOK},
	rpc.InvalidConstraints.ID:      {codeServer, http.StatusOK},
	rpc.InvalidPrivacy.ID:          {codeServer, http.StatusOK},
	rpc.InvalidRevertMode.ID:       {codeServer, http.StatusOK},
	rpc.InvalidTimestamps.ID:       {codeServer, http.StatusOK},
	rpc.InvalidRefund.ID:           {codeServer, http.StatusOK},
	rpc.UnmatchedBundle.ID:         {codeServer, http.StatusOK},
	rpc.BackrunNotFound.ID:         {codeServer, http.StatusOK},
	rpc.BackrunInvalidBundle.ID:    {codeServer, http.StatusOK},
	rpc.BackrunLimited.ID:          {codeLimitExceeded, http.StatusOK},
	rpc.BackrunInvalidInclusion.ID: {codeServer, http.StatusOK},

	// Simulation, and what the node knows.
	rpc.HeaderNotFound.ID:    {codeServer, http.StatusOK},
	rpc.SimulationFailed.ID:  {codeServer, http.StatusOK},
	rpc.SimulationTimeout.ID: {codeServer, http.StatusOK},
	rpc.SimulationBusy.ID:    {codeLimitExceeded, http.StatusOK},
	rpc.NodeUnavailable.ID:   {codeServer, http.StatusOK},

	// Refunds, statistics and everything else.
	rpc.InvalidCursor.ID:      {codeParams, http.StatusOK},
	rpc.InvalidRange.ID:       {codeParams, http.StatusOK},
	rpc.NotYourAddress.ID:     {codeServer, http.StatusForbidden},
	rpc.NotReady.ID:           {codeServer, http.StatusServiceUnavailable},
	rpc.JournalUnavailable.ID: {codeServer, http.StatusServiceUnavailable},
	rpc.NoOwner.ID:            {codeServer, http.StatusServiceUnavailable},
	rpc.AnswerUnknown.ID:      {codeServer, http.StatusServiceUnavailable},
	rpc.StatsTooOld.ID:        {codeServer, http.StatusOK},
	rpc.OrderCancelled.ID:     {codeServer, http.StatusOK},
	rpc.OrderUnknown.ID:       {codeServer, http.StatusOK},
}

// Statuses are the HTTP statuses alone, for answers that are not JSON-RPC, such as health checks.
var Statuses = statuses()

func statuses() serve.Statuses {
	all := make(serve.Statuses, len(Forms))
	for id, form := range Forms {
		all[id] = form.Status
	}
	return all
}
