package runstate

import "github.com/ubunye-io/ubunye/engine/store"

// The JSON forms of the document's objects: each keeps the members that it does not know.

// MarshalJSON upholds json.Marshaler.
func (x Document) MarshalJSON() ([]byte, error) {
	type plain Document
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Document) UnmarshalJSON(data []byte) (err error) {
	type plain Document
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x AppConfig) MarshalJSON() ([]byte, error) {
	type plain AppConfig
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *AppConfig) UnmarshalJSON(data []byte) (err error) {
	type plain AppConfig
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Action) MarshalJSON() ([]byte, error) {
	type plain Action
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Action) UnmarshalJSON(data []byte) (err error) {
	type plain Action
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Execution) UnmarshalJSON(data []byte) (err error) {
	type plain Execution
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Result) UnmarshalJSON(data []byte) (err error) {
	type plain Result
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x ObjectState) MarshalJSON() ([]byte, error) {
	type plain ObjectState
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *ObjectState) UnmarshalJSON(data []byte) (err error) {
	type plain ObjectState
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x VersionInfo) MarshalJSON() ([]byte, error) {
	type plain VersionInfo
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *VersionInfo) UnmarshalJSON(data []byte) (err error) {
	type plain VersionInfo
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Acceptance) MarshalJSON() ([]byte, error) {
	type plain Acceptance
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Acceptance) UnmarshalJSON(data []byte) (err error) {
	type plain Acceptance
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Origin) MarshalJSON() ([]byte, error) {
	type plain Origin
	return store.EncodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Origin) UnmarshalJSON(data []byte) (err error) {
	type plain Origin
	x.extra, err = store.DecodeKeeping(data, (*plain)(x))
	return err
}
