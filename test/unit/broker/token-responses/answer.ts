import { parseCredential } from '../../../../functions/broker/credential/credential.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { Service, TokenResponseSettings } from '../../../../functions/broker/service.ts';
import type { TokenResponse } from '../../../../functions/broker/token-response/body.ts';

/** One answer of a token endpoint, as data: what is sent, and the settings under which it is read. */
export interface Answer {
  readonly name: string;
  /** 200 when left out. */
  readonly status?: number;
  /** `application/json` when left out, no header when null. */
  readonly type?: string | null;
  /** More headers, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly settings?: Settings;
}

interface Settings extends Partial<Omit<Service, 'response'>> {
  readonly response?: Partial<TokenResponseSettings>;
}

/** What the answers that are not about credentials are asked for with. */
export const CREDENTIAL = parseCredential(
  new Redacted('{"client_id":"example-client","secret":"example-passphrase"}'),
  'customer-insights',
  'raw',
);

/** How long after the start of its request an answer is complete. */
export const RECEIVED_AFTER_MS = 250;

/** The answer as the sender hands it over. */
export function responseOf({ status = 200, type = 'application/json', headers = {}, body }: Answer): TokenResponse {
  return {
    status,
    headers: type === null ? headers : { 'content-type': type, ...headers },
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
  };
}

/** A service with every default, and the settings that the answer needs. */
export function serviceOf({ settings: { response, ...settings } = {} }: Answer): Service {
  return {
    authUrl: 'https://auth.example.com',
    tokenPath: '/auth/v1/token',
    basicEncoding: 'raw',
    parameters: {},
    parametersIn: 'query',
    headers: {},
    assumedLifetimeSeconds: 300,
    maxLifetimeSeconds: 86_400,
    rejectedOn403: false,
    singleActiveToken: false,
    attemptTimeoutMs: 3_000,
    requestTimeoutMs: 4_000,
    ...settings,
    response: { lifetimeUnit: 'seconds', passThrough: [], ...response },
  };
}

/** A JWT with these claims; its signature is no signature. */
export function jwt(claims: Readonly<Record<string, unknown>>): string {
  return [{ alg: 'RS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat('c2lnbmF0dXJl')
    .join('.');
}

/** The bytes of a text after these bytes. */
export function bytes(...parts: readonly (string | readonly number[])[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([...part]))));
}
