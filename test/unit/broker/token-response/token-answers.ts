import { expect } from 'vitest';
import { parseCredential } from '../../../../functions/broker/credential/credential.ts';
import type { Problem } from '../../../../functions/broker/problem.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { Service } from '../../../../functions/broker/service.ts';
import { readTokenResponse } from '../../../../functions/broker/token-response/read.ts';
import { exampleService, START } from '../../../support/example.ts';

/** One answer of a token endpoint, and the settings under which it is read. */
export interface Answer {
  /** 200 when left out. */
  readonly status?: number;
  /** `application/json` when left out, no header when null. */
  readonly type?: string | null;
  /** More headers, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is text or bytes. */
  readonly body: unknown;
  readonly settings?: Partial<Omit<Service, 'response'>> & { readonly response?: Partial<Service['response']> };
}

/** The request of every answer starts at `START`. */
export const RECEIVED_AT = START + 250;

export function serviceOf({ response, ...settings }: Answer['settings'] = {}): Service {
  return exampleService({ ...settings, response: { lifetimeUnit: 'seconds', passThrough: [], ...response } });
}

/** Reads an answer to a token request with this credential as the broker does. */
export function read(answer: Answer, { clientId = 'example-client', secret = 'example-passphrase' } = {}) {
  const { status = 200, type = 'application/json', headers = {}, settings } = answer;
  const text = new Redacted(JSON.stringify({ client_id: clientId, secret }));
  const sent = type === null ? headers : { 'content-type': type, ...headers };
  const response = { status, headers: sent, body: bytesOf(answer) };
  const times = { requestStartedAt: START, receivedAt: RECEIVED_AT };
  const credential = parseCredential(text, 'customer-insights', { basicEncoding: 'form', isOnlyService: true });
  return readTokenResponse(response, times, serviceOf(settings), credential);
}

export function bytesOf({ body }: Answer): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The token of a good answer, and whether that repeats the credential. */
export function tokenOf(...args: Parameters<typeof read>) {
  const reading = read(...args);
  if (reading.outcome === 'token')
    return { ...reading.token, hasEcho: reading.warnings.includes('credential-echoed'), warnings: reading.warnings };
  return expect.fail('problem' in reading ? reading.problem.message : reading.outcome);
}

/** The problem of an answer that is none of a token and no rejection. */
export function problemOf(...args: Parameters<typeof read>): Problem {
  const reading = read(...args);
  return 'problem' in reading ? reading.problem : expect.fail(reading.outcome);
}

/** A JWT with these claims; its signature is no signature. */
export function jwt(claims: unknown, header: unknown = { alg: 'RS256', typ: 'JWT' }): string {
  return [...[header, claims].map((part) => base64url(JSON.stringify(part))), 'c2lnbmF0dXJl'].join('.');
}

export function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
