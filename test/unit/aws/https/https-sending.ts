import { onTestFinished, vi } from 'vitest';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { SendHttp } from '../../../../functions/broker/token-request/send-http.ts';
import { type HttpRequest, SendFailure } from '../../../../functions/broker/token-request/send-http.ts';
import type { RawServer } from '../../../support/services/raw-server.ts';

export function exampleRequest(url: string, changes: Partial<HttpRequest> = {}): HttpRequest {
  const headers = { authorization: new Redacted('Basic aHVudGVyMg=='), 'content-length': '0' };
  return { method: 'POST', url: new URL(url), headers, body: '', ...changes };
}

type Limits = Parameters<SendHttp>[1];

export const LIMITS: Limits = { timeoutMs: 5_000, maxBodyBytes: 1_000 };

/** The status and the text of an answer, or the failure. */
export async function outcomeOf(send: SendHttp, request: HttpRequest, limits: Partial<Limits> = {}) {
  try {
    const { status, body } = await send(request, { ...LIMITS, ...limits });
    return { status, text: new TextDecoder().decode(body) };
  } catch (error) {
    if (!(error instanceof SendFailure)) throw error;
    const { kind, code, head } = error;
    return { kind, code, status: head?.status };
  }
}

/** The same of a request to a server without TLS. */
export function post(send: SendHttp, { port }: Pick<RawServer, 'port'>, limits: Partial<Limits> = {}) {
  return outcomeOf(send, exampleRequest(`http://127.0.0.1:${port}/`), limits);
}

/** Stops the time limits until the end of the test. Bytes on their way over loopback arrive before time passes. */
export function stopTime() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  return {
    pass: async (ms: number) => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(ms);
    },
  };
}
