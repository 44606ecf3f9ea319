// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of opentelemetry-proto 1.10.
const (
	requestResources   = 1 // ExportProfilesServiceRequest
	resourcesResource  = 1 // ResourceProfiles
	resourcesScopes    = 2
	resourceAttributes = 1 // Resource
	scopeProfiles      = 2 // ScopeProfiles
	profileSamples     = 2 // Profile
	sampleValues       = 4 // Sample
	sampleTimes        = 5
	keyValueKey        = 1 // KeyValue
	keyValueValue      = 2
	anyValueString     = 1 // AnyValue
)

var errMalformed = errors.New("a malformed request")

// each calls f for every field of a message: its number, its value without the length where it
// has one, and all of its bytes.
func each(message []byte, f func(number protowire.Number, value, whole []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMalformed
		}
		m := protowire.ConsumeFieldValue(number, kind, message[n:])
		if m < 0 {
			return errMalformed
		}
		value := message[n : n+m]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := f(number, value, message[:n+m]); err != nil {
			return err
		}
		message = message[n+m:]
	}
	return nil
}

// parts calls f for every field of this number.
func parts(message []byte, number protowire.Number, f func(value []byte) error) error {
	return each(message, func(n protowire.Number, value, _ []byte) error {
		if n != number {
			return nil
		}
		return f(value)
	})
}

// samplesOf counts: time stamps, or where there are none the values.
func samplesOf(request []byte) (total uint64, err error) {
	count := func(sample []byte) error {
		var times, values uint64
		err := each(sample, func(n protowire.Number, value, _ []byte) error {
			switch n {
			case sampleTimes:
				times += uint64(len(value) / 8)
			case sampleValues:
				for len(value) > 0 {
					v, m := protowire.ConsumeVarint(value)
					if m < 0 {
						return errMalformed
					}
					values += v
					value = value[m:]
				}
			}
			return nil
		})
		total += max(times, values)
		return err
	}
	err = parts(request, requestResources, func(resources []byte) error {
		return parts(resources, resourcesScopes, func(scope []byte) error {
			return parts(scope, scopeProfiles, func(profile []byte) error {
				return parts(profile, profileSamples, count)
			})
		})
	})
	return total, err
}

func pair(keyValue []byte) (key, text string, err error) {
	err = each(keyValue, func(n protowire.Number, value, _ []byte) error {
		switch n {
		case keyValueKey:
			key = string(value)
		case keyValueValue:
			return parts(value, anyValueString, func(v []byte) error {
				text = string(v)
				return nil
			})
		}
		return nil
	})
	return key, text, err
}

// rewrite copies a message with each field of this number changed by f.
func rewrite(message []byte, number protowire.Number, f func([]byte) ([]byte, error)) ([]byte,
	error) {
	var out []byte
	err := each(message, func(n protowire.Number, value, whole []byte) error {
		if n != number {
			out = append(out, whole...)
			return nil
		}
		changed, err := f(value)
		out = protowire.AppendTag(out, n, protowire.BytesType)
		out = protowire.AppendBytes(out, changed)
		return err
	})
	return out, err
}

// withAttributes returns the request with other values of these keys, in every resource that
// has them.
func withAttributes(request []byte, values map[string]string) ([]byte, error) {
	attribute := func(keyValue []byte) ([]byte, error) {
		key, _, err := pair(keyValue)
		text, ok := values[key]
		if err != nil || !ok {
			return keyValue, err
		}
		var any, out []byte
		any = protowire.AppendTag(any, anyValueString, protowire.BytesType)
		any = protowire.AppendString(any, text)
		out = protowire.AppendTag(out, keyValueKey, protowire.BytesType)
		out = protowire.AppendString(out, key)
		out = protowire.AppendTag(out, keyValueValue, protowire.BytesType)
		return protowire.AppendBytes(out, any), nil
	}
	return rewrite(request, requestResources, func(resources []byte) ([]byte, error) {
		return rewrite(resources, resourcesResource, func(resource []byte) ([]byte, error) {
			return rewrite(resource, resourceAttributes, attribute)
		})
	})
}

// readFramed reads requests, each after its length as 4 bytes, big endian.
func readFramed(path string) (requests [][]byte, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for len(data) >= 4 {
		length := int(binary.BigEndian.Uint32(data))
		if len(data) < 4+length {
			return nil, errMalformed
		}
		requests = append(requests, data[4:4+length])
		data = data[4+length:]
	}
	if len(requests) == 0 {
		return nil, errors.New(path + " has no request")
	}
	return requests, nil
}
