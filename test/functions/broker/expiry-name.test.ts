import { expect, it } from 'vitest';
import { expiryNameOf } from '../../../functions/broker/token-response/expiry-value.ts';

it.each<[string, boolean, number | undefined]>([
  ['expires_in', false, undefined],
  ['TTL', false, undefined],
  ['accessTokenExpiresAt', true, undefined],
  ['exp', true, undefined],
  ['expiresInMs', false, 1],
  ['ttl_ms', false, 1],
  ['ttl_sec', false, 1_000],
  ['ttl-secs', false, 1_000],
  ['ttl_min', false, 60_000],
  ['lifetime.minutes', false, 60_000],
  ['expires_at_millis', true, 1],
])('%s tells an expiry: a moment %j, in units of %j ms', (name, isMoment, unitMs) => {
  expect(expiryNameOf(name)).toEqual({ isMoment, unitMs });
});

it.each([
  ...['refresh_expires_in', 'ext_expires_in', 'expires_in_access', 'ttl_ms_left', 'ms', 'token', 'minutes', ''],
])('%j tells none', (name) => {
  expect(expiryNameOf(name)).toBeUndefined();
});
