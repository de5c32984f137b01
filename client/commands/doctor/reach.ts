import { membersOf, parseJson } from '../../../functions/broker/json.ts';
import { type Endpoint, networkAdvice, parseEndpoint, safeCause } from '../../index.ts';
import { aborted } from '../failure.ts';
import { type Cause, type DoctorStep, failed, ok } from './step.ts';

/** Reads the address of the broker. */
export function readAddress(url: string, region: string | undefined) {
  if (url === '') return { step: failed('url', 'url-missing', 'No URL is given') };
  try {
    const endpoint = parseEndpoint(url, region);
    return { step: ok('url', `${endpoint.url.host}, signed for ${endpoint.region}`), endpoint };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const cause = error.message.includes('region') ? 'region-missing' : 'url-malformed';
    return { step: failed('url', cause, error.message) };
  }
}

/** Sends an unsigned request. The refusal shows whether a Function URL answers, and whether this clock is right. */
export async function examineConnection({ url }: Endpoint, signal: AbortSignal): Promise<readonly DoctorStep[]> {
  const sentAt = Date.now();
  const step = 'connection';
  const answer = await ask(url, 'GET', signal);
  if ('code' in answer) {
    const { code } = answer;
    return [failed(step, causeOf(code), `No answer from ${url.host} (${code})`, networkAdvice(code, url))];
  }
  const { status, headers, text } = answer;
  const isAws = headers.has('x-amzn-requestid') || headers.has('x-amzn-errortype');
  if (!isAws) return [failed(step, 'not-a-broker', `The answer ${status} does not come from a Function URL`)];
  const isUnknown = status === 403 && membersOf(parseJson(text)).Message === null;
  if (isUnknown) return [failed(step, 'function-url-unknown', 'AWS knows no function behind this URL')];
  const connection = ok(step, `A Function URL answers ${status}, because nothing was signed`);
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? [connection] : [connection, examineClock(date, sentAt, Date.now())];
}

function causeOf(code: string): Cause {
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'dns-failed';
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_|HOSTNAME|^EPROTO$/.test(code)) return 'tls-failed';
  return /TIMEOUT|ETIMEDOUT|TimeoutError/i.test(code) ? 'no-answer' : 'connection-failed';
}

/** Tolerates the header's whole seconds and the time on the way. */
function examineClock(date: number, sentAt: number, receivedAt: number): DoctorStep {
  const offSeconds = Math.round((date + 500 - (sentAt + receivedAt) / 2) / 1_000);
  const off = Math.abs(offSeconds);
  const words = `This clock is ${off} s ${offSeconds > 0 ? 'behind' : 'ahead of'} AWS`;
  if (off >= 300) return failed('clock', offSeconds > 0 ? 'clock-behind' : 'clock-ahead', words);
  return ok('clock', off < 5 ? 'This clock is right' : `${words}; 5 minutes are the limit`);
}

/** Returns whether a status means that the path has nothing, or something else. */
export function isMissing(status: unknown): boolean {
  return status === 404 || status === 405;
}

/** Sends an empty request: no signature, credential or body. Returns the answer, or the code of the failure. */
export async function ask(url: URL, method: 'GET' | 'POST', signal: AbortSignal) {
  const deadline = AbortSignal.timeout(5_000);
  try {
    const response = await fetch(url, { method, redirect: 'manual', signal: AbortSignal.any([signal, deadline]) });
    return { status: response.status, headers: response.headers, text: await beginningOf(response) };
  } catch (error) {
    if (signal.aborted) throw aborted();
    return { code: deadline.aborted ? 'ETIMEDOUT' : safeCause(error).message };
  }
}

/** Returns the first chunk of a body, which may have no end. `doctor` needs no more. */
async function beginningOf({ body }: Response): Promise<string> {
  for await (const chunk of body ?? []) return Buffer.from(chunk).toString('utf8');
  return '';
}
