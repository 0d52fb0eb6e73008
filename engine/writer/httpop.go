package writer

import (
	"context"
	"errors"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// HTTP is the capability "http". Its errors are of type *abi.Failure, with the codes CodeRefused, CodeNotSent and CodeNoAnswer, for the
// module to judge; any other error fails the call.
type HTTP interface {
	Request(ctx context.Context, req abi.HTTPRequest) (abi.HTTPAnswer, error)
}

// httpRequest asks a host, and notes that it may have been told something: unless it is known for certain that it was not.
func (o *operations) httpRequest(ctx context.Context, r abi.HTTPRequest) (abi.HTTPAnswer, error) {
	if !r.Reads() && o.call != abi.CallCommit {
		return abi.HTTPAnswer{}, fault(abi.CodeRefused, "%s is not allowed to send %q during %s", abi.OpHTTP, r.Method, o.call)
	}
	a, err := o.grants.HTTP.Request(ctx, r)
	var f *abi.Failure
	certain := errors.As(err, &f) && (f.Code == abi.CodeNotSent || f.Code == abi.CodeRefused)
	o.put = o.put || !r.Reads() && !certain
	return a, err
}
