import type { Endpoint } from '../../../client/index.ts';
import { isJsonObject, parseJson } from '../../json.ts';
import { type Cause, failed, ok, type Step } from './causes.ts';
import { ask, type Heard } from './unsigned-request.ts';

/** Reaches the URL without a signature, which a Function URL refuses, and reads what that shows: who is there, and when. */
export async function examineConnection({ url }: Endpoint, signal: AbortSignal): Promise<readonly Step[]> {
  const sentAt = Date.now();
  const heard = await ask(url, 'GET', signal);
  if ('code' in heard) return [failed('connection', causeOf(heard.code), `No answer from ${url.host} (${heard.code})`)];

  const who = examineAnswer(heard);
  if (who.outcome === 'failed') return [who];
  const date = Date.parse(heard.headers.get('date') ?? '');
  return Number.isNaN(date) ? [who] : [who, examineClock(date, sentAt, Date.now())];
}

function causeOf(code: string): Cause {
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'dns-failed';
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_|HOSTNAME|^EPROTO$/.test(code)) return 'tls-failed';
  return /TIMEOUT|TimeoutError|ETIMEDOUT/i.test(code) ? 'no-answer' : 'connection-failed';
}

function examineAnswer({ status, headers, text }: Heard): Step {
  const isAws = headers.has('x-amzn-requestid') || headers.has('x-amzn-errortype');
  if (!isAws) return failed('connection', 'not-a-broker', `Something answers ${status} that is no Function URL`);
  const body = parseJson(text);
  if (status === 403 && isJsonObject(body) && body.Message === null) {
    return failed('connection', 'function-url-unknown', 'AWS knows no function behind this URL');
  }
  return ok('connection', `A Function URL answers, ${status} as nothing was signed`);
}

/** The header is cut to whole seconds, and the way takes time: so much may be off without meaning anything. */
function examineClock(date: number, sentAt: number, receivedAt: number): Step {
  const offSeconds = Math.round((date + 500 - (sentAt + receivedAt) / 2) / 1_000);
  const words = `${Math.abs(offSeconds)} s ${offSeconds > 0 ? 'behind' : 'ahead of'} AWS`;
  if (Math.abs(offSeconds) < SIGNATURE_WINDOW_SECONDS) {
    return ok(
      'clock',
      Math.abs(offSeconds) < 5 ? 'This clock is right' : `This clock is ${words}; 5 minutes are the limit`,
    );
  }
  return failed('clock', offSeconds > 0 ? 'clock-behind' : 'clock-ahead', `This clock is ${words}`);
}

const SIGNATURE_WINDOW_SECONDS = 300;
