import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isRecord } from '../../../functions/broker/json.ts';
import type { HttpAnswer } from '../loopback.ts';

/** Lambda's limit on an event and on a result, both counted as JSON. */
export const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** The result of a function as Lambda turns it into HTTP; throws when the function returned what Lambda cannot send. */
export function answerOfResult(result: unknown): HttpAnswer {
  const json = JSON.stringify(result) ?? 'null';
  if (Buffer.byteLength(json) > MAX_PAYLOAD_BYTES) throw new RangeError('the result of the function exceeds 6 MB');
  const value: unknown = JSON.parse(json);
  if (!isRecord(value) || value.statusCode === undefined) {
    return { status: 200, headers: JSON_TYPE, body: typeof value === 'string' ? value : json };
  }
  return {
    status: parseStatus(value.statusCode),
    headers: parseHeaders(value),
    body: parseBody(value),
  };
}

/** An answer of AWS itself, in front of the function. */
export function awsAnswer(status: number, errorType: string, body: Readonly<Record<string, string>>): HttpAnswer {
  return { status, headers: { ...JSON_TYPE, 'x-amzn-errortype': errorType }, body: JSON.stringify(body) };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Unsigned, or signed by a role that no policy lets in. */
export const FORBIDDEN = awsAnswer(403, 'AccessDeniedException', {
  Message:
    'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html',
});

/** More than an event may hold. */
export const TOO_LARGE = awsAnswer(413, 'RequestEntityTooLargeException', {
  message: `Request must be smaller than ${MAX_PAYLOAD_BYTES} bytes for the InvokeFunction operation`,
});

/** As many invocations run as may. */
export const THROTTLED = awsAnswer(429, 'TooManyRequestsException', {
  Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded',
  Type: 'User',
  message: 'Rate Exceeded.',
});

/** The function threw, ran out of time, or returned nonsense: Lambda tells the caller nothing about it. */
export const FUNCTION_FAILED: HttpAnswer = { status: 502, headers: JSON_TYPE, body: 'Internal Server Error' };

function parseStatus(status: unknown): number {
  if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new TypeError('statusCode is not a final HTTP status');
}

/** Headers that Lambda's front writes itself; a function's own value travels under another name. */
const REMAPPED_HEADERS = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'server',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
]);

function parseHeaders({ headers = {}, cookies = [] }: Readonly<Record<string, unknown>>): HttpAnswer['headers'] {
  if (!isRecord(headers) || !Array.isArray(cookies)) throw new TypeError('headers or cookies have the wrong type');
  const named = Object.entries(headers).map(([name, value]) => {
    const lowerCase = name.toLowerCase();
    return [REMAPPED_HEADERS.has(lowerCase) ? `x-amzn-remapped-${lowerCase}` : lowerCase, String(value)] as const;
  });
  const setCookies = cookies.map(String);
  for (const [name, value] of [...named, ...setCookies.map((cookie) => ['set-cookie', cookie] as const)]) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return { ...JSON_TYPE, ...Object.fromEntries(named), ...(setCookies.length > 0 && { 'set-cookie': setCookies }) };
}

function parseBody({ body: given, isBase64Encoded }: Readonly<Record<string, unknown>>): string | Uint8Array {
  const body = given ?? '';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return isBase64Encoded === true ? Buffer.from(text, 'base64') : text;
}
