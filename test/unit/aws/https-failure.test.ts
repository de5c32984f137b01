import { expect, it } from 'vitest';
import { errorFailure } from '../../../functions/aws/https/sender.ts';

const UNCONNECTED = { connected: () => false, silentOnReuse: () => false };

it.each([
  ['ENOTFOUND', 'connect'],
  ['EAI_AGAIN', 'connect'],
  ['EHOSTUNREACH', 'connect'],
  ['ECONNRESET', 'connect'],
  ['ERR_SOCKET_CONNECTION_TIMEOUT', 'connect'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
  ['ERROR_IN_CERT_NOT_AFTER_FIELD', 'tls'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'tls'],
  ['EPROTO', 'tls'],
])('calls %s before a connection is ready "%s"', (code, kind) => {
  expect(errorFailure(Object.assign(new Error('x'), { code }), UNCONNECTED, undefined)).toMatchObject({ kind, code });
});

it('keeps nothing of an error but its code', () => {
  const error = Object.assign(new Error('hunter2'), { code: 'ENOTFOUND', input: 'hunter2' });
  const failure = errorFailure(error, UNCONNECTED, undefined);

  expect(`${failure.stack}${JSON.stringify(failure)}`).not.toContain('hunter2');
  expect(failure.cause).toBeUndefined();
});
