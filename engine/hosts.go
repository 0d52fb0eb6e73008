package engine

import (
	"context"
	"errors"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/outbound"
)

// hosts is what one output's writer may do with the hosts that the pipeline lists.
type hosts struct{ client *outbound.Client }

// Request upholds writer.HTTP.
func (h hosts) Request(ctx context.Context, req abi.HTTPRequest) (abi.HTTPAnswer, error) {
	a, err := h.client.Do(ctx, outbound.Request{Method: req.Method, URL: req.URL, Headers: req.Headers, Body: req.Body})
	var e *outbound.Error
	if errors.As(err, &e) {
		f := &abi.Failure{Code: abi.CodeNotSent, Message: e.Message, Retryable: !e.Refused}
		switch {
		case e.Sent:
			f.Code = abi.CodeNoAnswer
		case e.Refused:
			f.Code, f.Hint = abi.CodeRefused, "what a plugin may ask is in the pipeline: allow: {http: […], secrets: […]}"
		}
		return abi.HTTPAnswer{}, f
	}
	return abi.HTTPAnswer{Status: a.Status, Headers: a.Headers, Body: a.Body, Truncated: a.Truncated}, err
}
