import { parseEndpoint } from '../../../client/index.ts';
import { causeWord } from '../../../functions/aws/calls.ts';
import { parseJsonObject } from '../../json.ts';
import { aborted } from '../shared/failure.ts';
import { type Cause, failed, ok, type Step, unknown } from './step.ts';

/** Where the broker is, and for which region requests to it are signed. */
export type Endpoint = ReturnType<typeof parseEndpoint>;

/** Reads where the broker is. */
export function readAddress(
  url: string,
  region: string | undefined,
): { readonly step: Step; readonly endpoint?: Endpoint } {
  if (url === '') return { step: failed('url', 'url-missing', 'No URL is given') };
  for (const [cause, known] of [
    ['url-malformed', 'us-east-1'],
    ['region-missing', region],
  ] as const) {
    try {
      parseEndpoint(url, known);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return { step: failed('url', cause, error.message) };
    }
  }
  const endpoint = parseEndpoint(url, region);
  return { step: ok('url', `${endpoint.url.host}, signed for ${endpoint.region}`), endpoint };
}

/** Reaches the URL without a signature, which a Function URL refuses, and reads what that shows: what is there, and when. */
export async function examineConnection({ url }: Endpoint, signal: AbortSignal): Promise<readonly Step[]> {
  const sentAt = Date.now();
  const answer = await ask(url, 'GET', signal);
  if ('code' in answer) {
    return [failed('connection', causeOf(answer.code), `No answer from ${url.host} (${answer.code})`)];
  }
  const { status, headers, text } = answer;
  if (!headers.has('x-amzn-requestid') && !headers.has('x-amzn-errortype')) {
    return [failed('connection', 'not-a-broker', `Something answers ${status} that is no Function URL`)];
  }
  if (status === 403 && parseJsonObject(text)?.Message === null) {
    return [failed('connection', 'function-url-unknown', 'AWS knows no function behind this URL')];
  }
  const connection = ok('connection', `A Function URL answers, ${status} as nothing was signed`);
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? [connection] : [connection, examineClock(date, sentAt, Date.now())];
}

function causeOf(code: string): Cause {
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'dns-failed';
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_|HOSTNAME|^EPROTO$/.test(code)) return 'tls-failed';
  return /TIMEOUT|ETIMEDOUT|TimeoutError/i.test(code) ? 'no-answer' : 'connection-failed';
}

/** The header is cut to whole seconds, and the way takes time: so much may be off without meaning anything. */
function examineClock(date: number, sentAt: number, receivedAt: number): Step {
  const offSeconds = Math.round((date + 500 - (sentAt + receivedAt) / 2) / 1_000);
  const words = `${Math.abs(offSeconds)} s ${offSeconds > 0 ? 'behind' : 'ahead of'} AWS`;
  if (Math.abs(offSeconds) >= SIGNATURE_WINDOW_SECONDS) {
    return failed('clock', offSeconds > 0 ? 'clock-behind' : 'clock-ahead', `This clock is ${words}`);
  }
  return ok(
    'clock',
    Math.abs(offSeconds) < 5 ? 'This clock is right' : `This clock is ${words}; 5 minutes are the limit`,
  );
}

const SIGNATURE_WINDOW_SECONDS = 300;

/**
 * Tries both documented paths of a token endpoint with a POST that carries nothing, above all no credential: the one that
 * exists answers neither 404 nor 405.
 */
export async function tryTokenPaths(authUrl: string, signal: AbortSignal): Promise<Step> {
  const answers: { readonly path: string; readonly word: string; readonly isThere: boolean }[] = [];
  for (const path of DOCUMENTED_PATHS) {
    const answer = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', signal);
    const word = 'code' in answer ? `gives no answer (${answer.code})` : `answers ${answer.status}`;
    answers.push({ path, word, isThere: !('code' in answer || isMissing(answer.status)) });
  }
  const detail = answers.map(({ path, word }) => `${path} ${word}`).join(', ');
  const [there, ...others] = answers.filter(({ isThere }) => isThere);
  if (there === undefined || others.length > 0) {
    return unknown('token-path', `${detail}: this does not tell which is right`);
  }
  return { ...ok('token-path', `${detail}: set tokenPath to ${there.path}`), tokenPath: there.path };
}

/** The two that the services' specification names, in prose and in its examples. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];

/** Whether a status says that there is something else, or nothing, at the path. */
export function isMissing(status: unknown): boolean {
  return status === 404 || status === 405;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** Only the beginning. */
  readonly text: string;
}

/** A request that carries nothing: no signature, no credential, no body. Without an answer, why. */
async function ask(
  url: URL,
  method: 'GET' | 'POST',
  signal: AbortSignal,
): Promise<Answered | { readonly code: string }> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { method, redirect: 'manual', signal: AbortSignal.any([signal, deadline]) });
    return { status: response.status, headers: response.headers, text: await beginningOf(response) };
  } catch (error) {
    if (signal.aborted) throw aborted();
    if (deadline.aborted) return { code: 'ETIMEDOUT' };
    return { code: causeWord(error instanceof Error && error.cause instanceof Error ? error.cause : error) };
  }
}

/** The first piece of a body: what `doctor` reads of one is shorter. */
async function beginningOf({ body }: Response): Promise<string> {
  for await (const chunk of body ?? []) return Buffer.from(chunk).toString('utf8');
  return '';
}

const TIMEOUT_MS = 5_000;
