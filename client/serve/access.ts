import { randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type BrokerResponse, respond } from '../../functions/broker/http/token-endpoint.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { isLoopback } from '../../functions/vocabulary.ts';

/** The refusal of a request whose caller is not on this machine, or does not have the key. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: BrokerResponse;

  constructor(status: number, type: string, detail: string, headers: Record<string, string> = {}) {
    super(`${type}: ${detail}`);
    const problem = { type, title: 'The request is refused', status, detail, retryable: false };
    // Some OAuth libraries recognize a failure only by its `error`.
    const error = { error: status === 401 ? 'invalid_client' : 'invalid_request', error_description: detail };
    this.answer = respond(status, { ...problem, request_id: randomUUID(), ...error }, headers);
  }
}

/** Refuses requests from web pages and proxies, which are not programs on this machine. @throws Refusal, Problem */
export function refuseForeign({ headers, headersDistinct }: IncomingMessage): void {
  // Node reads only the first of two, and a proxy may read the second.
  const twice = ['host', 'authorization'].find((name) => (headersDistinct[name]?.length ?? 0) > 1);
  if (twice) throw new Problem('invalid-request', `Send the header ${twice} once.`);
  const hostname = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  // A page of another site can arrive under its own name, which resolves to 127.0.0.1 (DNS rebinding).
  if (!isLoopback(hostname)) throw new Refusal(421, 'foreign-host', 'Send the request to 127.0.0.1 or localhost.');
  // A request of a page to its own or another site names that site, or its relation to it.
  const isOfPage = headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none';
  if (isOfPage) throw new Refusal(403, 'foreign-origin', 'Web pages get no answer.');
  if (['x-forwarded-for', 'forwarded', 'via'].some((name) => name in headers)) {
    throw new Refusal(400, 'forwarded', 'Proxies get no answer: send the request directly.');
  }
}

export function unauthorized(
  detail = 'Send the key: as bearer token, Basic password, X-Token-Broker-Key, or client_secret of a form to /token.',
): Refusal {
  return new Refusal(401, 'unauthorized', detail, { 'www-authenticate': 'Basic realm="token-broker"' });
}

/** Finds the key in a request, and the client that HTTP Basic names next to it. */
export function createAccess(key: string) {
  const expected = Buffer.from(key);
  const isKey = (text: string) => {
    const given = Buffer.from(text);
    // The length of a key is not secret.
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  const made = 'the server makes a new one at each start; read the file again';
  const advice = key.startsWith('tbk-') ? made : 'the server has that of TOKEN_BROKER_SERVE_KEY';
  const wrong = () => unauthorized(`This is not the key: ${advice}.`);

  return {
    /** Returns `undefined` when the headers contain no key. @throws Refusal for a wrong key */
    inHeaders({ authorization = '', 'x-token-broker-key': header }: IncomingHttpHeaders) {
      // A generated client has a place for a bearer token.
      const bearer = /^Bearer +(.*)$/i.exec(authorization)?.[1];
      const basic = /^Basic /i.test(authorization) ? parseBasic(authorization) : undefined;
      const keys = [bearer ?? basic?.password, header].flat().filter((text) => text !== undefined);
      if (keys.length === 0) return undefined;
      if (!keys.every(isKey)) throw wrong();
      return { clientId: basic?.user };
    },
    /** Returns the form with the headers' client. @throws Refusal without the key, Problem where the two differ */
    inForm(form: URLSearchParams, shown: { readonly clientId: string | undefined } | undefined): URLSearchParams {
      const keys = form.getAll('client_secret');
      if (shown === undefined && keys.length === 0) throw unauthorized();
      if (shown === undefined && !keys.every(isKey)) throw wrong();
      if (!keys.every(isKey)) throw new Problem('invalid-request', 'client_secret: is not the key of the headers.');
      if (!shown?.clientId) return form;
      const clients = new Set([...form.getAll('client_id'), shown.clientId]);
      if (clients.size > 1) throw new Problem('invalid-request', 'client_id: is not the user name of the headers.');
      const whole = new URLSearchParams(form);
      whole.set('client_id', shown.clientId);
      return whole;
    },
  };
}

/** Returns user name and password, each form-decoded (RFC 6749 §2.3.1). A missing password is empty. */
function parseBasic(authorization: string) {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1] ?? '';
  const [, ...parts] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  const decode = (part: string) => new URLSearchParams(`part=${part.replaceAll('&', '%26')}`).get('part') ?? '';
  const [user, password = ''] = parts.map(decode);
  return { user, password };
}
