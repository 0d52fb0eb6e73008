package fetch

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
)

// ParseKey reads an Ed25519 public key, as PEM ("PUBLIC KEY", RFC 8410: what `openssl pkey -pubout` prints) or as its 32 bytes in base64,
// and gives the latter.
func ParseKey(text []byte) (string, error) {
	text = bytes.TrimSpace(text)
	if block, _ := pem.Decode(text); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		public, ok := key.(ed25519.PublicKey)
		if err != nil || !ok {
			return "", errors.New("it is no Ed25519 public key")
		}
		return base64.StdEncoding.EncodeToString(public), nil
	}
	if raw, err := base64.StdEncoding.DecodeString(string(text)); err != nil || len(raw) != ed25519.PublicKeySize {
		return "", errors.New("it is no Ed25519 public key, as PEM or its 32 bytes in base64")
	}
	return string(text), nil
}

// Signer gives the one of the keys (as ParseKey gives them) by which the module is signed; empty: none of them.
func (m Module) Signer(keys []string) string {
	signature := m.Signature
	if len(signature) != ed25519.SignatureSize {
		raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(signature)))
		if err != nil {
			return ""
		}
		signature = raw
	}
	for _, key := range keys {
		raw, err := base64.StdEncoding.DecodeString(key)
		if err == nil && len(raw) == ed25519.PublicKeySize && ed25519.Verify(raw, m.Contents, signature) {
			return key
		}
	}
	return ""
}
