import { type HttpRequest, type Send, SendFailure } from '../../functions/broker/token-request/send.ts';
import type { TokenResponse } from '../../functions/broker/token-response/body.ts';
import type { Reachable } from './event-clock.ts';
import type { ServiceAnswer, TokenRequest, TokenServices } from './token-services.ts';
import { serviceAt } from './world.ts';

/** How an instance reaches the token endpoints of the simulation: as if by HTTP. */
export function createSend(tokenServices: TokenServices, sender: Reachable): Send {
  return async (request, { timeoutMs }) => toResponse(await tokenServices.ask(sender, readRequest(request), timeoutMs));
}

function readRequest({ url, headers }: HttpRequest): TokenRequest {
  const basic = revealed(headers.authorization ?? '').replace('Basic ', '');
  const [client = '', version = ''] = atob(basic).split(':');
  return { pair: { client, service: serviceAt(url) }, version };
}

function revealed(value: HttpRequest['headers'][string]): string {
  return typeof value === 'string' ? value : value.reveal();
}

function toResponse(answer: ServiceAnswer): TokenResponse {
  switch (answer.kind) {
    case 'token':
      return response(200, { access_token: answer.token, token_type: 'Bearer', expires_in: answer.lifetimeSeconds });
    case 'rejected':
      return response(401, { error: 'invalid_client' });
    case 'busy':
      return response(503, {});
    case 'refused':
      throw new SendFailure('connect', 'ECONNREFUSED');
    case 'silent':
      throw new SendFailure('timeout', 'ETIMEDOUT');
  }
}

function response(status: number, members: Readonly<Record<string, unknown>>): TokenResponse {
  return { status, headers: JSON_HEADERS, body: encoder.encode(JSON.stringify(members)) };
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const encoder = new TextEncoder();
