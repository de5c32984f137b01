import { basicAuthorization } from '../credential/basic-authorization.ts';
import type { Credential } from '../credential/credential.ts';
import { shows } from '../redacted.ts';
import type { BasicEncoding } from '../service.ts';
import type { ServiceToken } from '../token-response/read.ts';

/**
 * A token without anything that repeats the credential it was requested with; `undefined` when the token itself does. A
 * service can write what it likes into its answer, but no caller may ever receive a credential by way of it.
 */
export function withoutCredential(
  token: ServiceToken,
  credential: Credential,
  encoding: BasicEncoding,
): ServiceToken | undefined {
  const basic = basicAuthorization(credential, encoding).reveal();
  const secrets = [credential.secret.reveal(), basic.slice('Basic '.length)];
  const repeats = (value: unknown) => secrets.some((secret) => shows(value, secret));
  if (repeats(token.accessToken.reveal())) return undefined;

  // A client id may be part of a scope or an address, but nothing else than it is told to nobody.
  const isTellable = (value: unknown) => !repeats(value) && value !== credential.clientId.reveal();
  const { tokenType, scope, passThrough } = token;
  return {
    ...token,
    tokenType: isTellable(tokenType) ? tokenType : 'Bearer',
    scope: isTellable(scope) ? scope : undefined,
    passThrough: Object.fromEntries(Object.entries(passThrough).filter(([, value]) => isTellable(value))),
  };
}
