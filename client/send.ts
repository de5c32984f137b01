import { failure, TokenBrokerError } from './error.ts';
import { type Limits, within } from './limits.ts';
import { type Signing, sign } from './sign.ts';

export interface Sending extends Signing {
  readonly fetch: typeof globalThis.fetch;
}

/** What the broker, or AWS in front of it, answered: complete and unread. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * One attempt: signs, sends, reads the whole answer, whatever its status.
 *
 * @throws TokenBrokerError `aws-credentials-unavailable`, `network-error`, `timeout`, `aborted`, `unexpected-answer`
 */
export function send(sending: Sending, path: string, body: string, limits: Limits): Promise<Answer> {
  return within(limits, (signal) => attempt(sending, path, body, signal));
}

async function attempt(sending: Sending, path: string, body: string, signal: AbortSignal): Promise<Answer> {
  const { fetch, endpoint } = sending;
  const headers = await sign(sending, path, body);
  try {
    // A redirect is not followed: the signature is only meant for the broker.
    const request = { method: 'POST', headers, body, redirect: 'manual', signal } as const;
    const response = await fetch(new URL(path, endpoint.url), request);
    return { status: response.status, headers: response.headers, text: await readText(response) };
  } catch (error) {
    if (error instanceof TokenBrokerError) throw error;
    throw failure('network-error', errorCode(error));
  }
}

/** Nothing that the broker sends comes near this; `fetch` inflates, so a small answer may hide a big one. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      throw failure('unexpected-answer', `more than ${MAX_ANSWER_BYTES} bytes`, { status: response.status });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Only the code of a network failure (`ECONNREFUSED`) is told: messages may quote what was sent. */
function errorCode(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? code : '';
}
