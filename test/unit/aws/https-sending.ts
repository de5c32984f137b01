import { onTestFinished } from 'vitest';
import { Redacted } from '../../../functions/broker/redacted.ts';
import {
  type HttpRequest,
  type Send,
  SendFailure,
  type SendLimits,
} from '../../../functions/broker/token-request/send.ts';
import { type RawServer, startRawServer } from '../../support/raw-server.ts';

/** A raw server that ends with the test. */
export async function serve(behaviour: Parameters<typeof startRawServer>[0]): Promise<RawServer> {
  const server = await startRawServer(behaviour);
  onTestFinished(server.close);
  return server;
}

export function exampleRequest(url: string, changes: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'POST',
    url: new URL(url),
    headers: { authorization: new Redacted('Basic aHVudGVyMg=='), 'content-length': '0' },
    body: '',
    ...changes,
  };
}

const LIMITS: SendLimits = { timeoutMs: 5_000, maxBodyBytes: 1_000 };

/** The status and the text of an answer, or the failure. */
export async function outcomeOf(send: Send, request: HttpRequest, limits: Partial<SendLimits> = {}) {
  try {
    const { status, body } = await send(request, { ...LIMITS, ...limits });
    return { status, text: new TextDecoder().decode(body) };
  } catch (error) {
    if (!(error instanceof SendFailure)) throw error;
    const { kind, code, head } = error;
    return { kind, code, status: head?.status };
  }
}

/** An answer with a length, as text for the wire. */
export function answer(status: number, body: string, headers = ''): string {
  return `HTTP/1.1 ${status} X\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}
