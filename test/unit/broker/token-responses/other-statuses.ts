import type { Answer } from './answer.ts';

/** An answer that is no success, and what is to be made of it. */
export interface OtherStatus extends Answer {
  readonly status: number;
  readonly outcome: 'rejected' | 'held' | 'failed';
  readonly problem?: 'token-endpoint-error' | 'token-endpoint-unavailable';
  /** A part of the problem's detail. */
  readonly says?: string;
  readonly retryAfterSeconds?: number;
}

/** Answers with other statuses, received at `at`. Values that must not get out hold `LEAK`. */
export function otherStatuses(at: number): readonly OtherStatus[] {
  return [...rejections(), ...errors(), ...unavailable(at)];
}

const HTML = { type: 'text/html', body: '<html>LEAK</html>' };

function rejections(): readonly OtherStatus[] {
  const invalidClient = '{"error":"invalid_client","error_description":"LEAK"}';
  return [
    { name: '401', status: 401, body: invalidClient, outcome: 'rejected' },
    { name: '401 without a body', status: 401, type: null, body: '', outcome: 'rejected' },
    { name: '401 with HTML', status: 401, ...HTML, outcome: 'rejected' },
    { name: '401 with a token', status: 401, body: '{"access_token":"LEAK"}', outcome: 'rejected' },
    { name: '400 invalid_client', status: 400, body: invalidClient, outcome: 'rejected' },
    {
      name: '400 invalid_client as a problem',
      status: 400,
      type: 'application/problem+json',
      body: invalidClient,
      outcome: 'rejected',
    },
    {
      name: '403 when it means a rejection',
      status: 403,
      ...HTML,
      settings: { rejectedOn403: true },
      outcome: 'rejected',
    },
  ];
}

function errors(): readonly OtherStatus[] {
  const oauth = (error: string) => JSON.stringify({ error, error_description: 'LEAK' });
  const answers: readonly (Omit<OtherStatus, 'outcome'> & { readonly says: string })[] = [
    { name: '300', status: 300, type: null, body: '', says: '300: a redirect' },
    { name: '399', status: 399, type: null, body: '', says: '399: a redirect' },
    { name: '301', status: 301, headers: { location: 'https://LEAK.example.com/' }, ...HTML, says: '301: a redirect' },
    { name: '302', status: 302, headers: { location: '/LEAK' }, type: null, body: '', says: 'authUrl or tokenPath' },
    { name: '304', status: 304, type: null, body: '', says: '304' },
    { name: '400 with HTML', status: 400, ...HTML, says: '400: it does not understand' },
    { name: '400 with an error of its own', status: 400, body: oauth('LEAK'), says: '400: it does not understand' },
    {
      name: '400 with an error that only names it',
      status: 400,
      body: '{"error":{"code":"invalid_client"}}',
      says: '400: ',
    },
    {
      name: '400 that mentions invalid_client',
      status: 400,
      type: 'text/plain',
      body: 'invalid_client',
      says: '400: ',
    },
    {
      name: '400 invalid_client as a form',
      status: 400,
      type: 'text/plain',
      body: 'error=invalid_client',
      says: '400 (invalid_client): ',
    },
    {
      name: '400 invalid_request',
      status: 400,
      body: oauth('invalid_request'),
      says: '400 (invalid_request): a parameter',
    },
    {
      name: '400 unsupported_grant_type',
      status: 400,
      body: oauth('unsupported_grant_type'),
      says: 'grant_type in parameters',
    },
    {
      name: '400 unauthorized_client',
      status: 400,
      body: oauth('unauthorized_client'),
      says: '(unauthorized_client): it does not allow',
    },
    { name: '400 invalid_scope', status: 400, body: oauth('invalid_scope'), says: 'Check scope in parameters' },
    {
      name: '400 invalid_grant',
      status: 400,
      body: oauth('invalid_grant'),
      says: '(invalid_grant): it does not accept',
    },
    { name: '402', status: 402, body: '{}', says: '402: check authUrl' },
    { name: '403', status: 403, body: '{"message":"LEAK"}', says: 'set rejectedOn403' },
    { name: '403 invalid_client', status: 403, body: oauth('invalid_client'), says: 'set rejectedOn403' },
    { name: '404', status: 404, ...HTML, says: 'Check tokenPath' },
    { name: '404 beside rejectedOn403', status: 404, settings: { rejectedOn403: true }, ...HTML, says: '404' },
    { name: '499', status: 499, body: '', says: '499' },
    { name: '600', status: 600, body: '', says: '600' },
    { name: '405', status: 405, headers: { allow: 'LEAK' }, ...HTML, says: 'Check tokenPath' },
    { name: '406', status: 406, body: '', says: 'accept in headers' },
    { name: '407', status: 407, body: '', says: 'authUrl' },
    { name: '408', status: 408, body: '', says: '408' },
    { name: '410', status: 410, body: '', says: 'tokenPath' },
    { name: '415', status: 415, body: '', says: 'parametersIn' },
    { name: '421', status: 421, body: '', says: 'authUrl' },
    { name: '422', status: 422, body: oauth('LEAK'), says: 'parameters' },
    { name: '101', status: 101, type: null, body: '', says: '101: check authUrl' },
    { name: '404 with a token', status: 404, body: '{"access_token":"LEAK-4f9Kq2ZxV7mN1bR8"}', says: '404' },
  ];
  return answers.map((answer) => {
    const isHeld = answer.status >= 400 && answer.status <= 499 && answer.status !== 408;
    return { ...answer, outcome: isHeld ? 'held' : 'failed', problem: 'token-endpoint-error' };
  });
}

function unavailable(at: number): readonly OtherStatus[] {
  const inAMinute = new Date(at + 60_000).toUTCString();
  const retryAfter: readonly (readonly [string, number | undefined])[] = [
    ['1', 1],
    ['120', 120],
    ['300', 300],
    ['86400', 300],
    ['9'.repeat(400), 300],
    [inAMinute, 60],
    [rfc850Date(inAMinute), 60],
    [asctimeDate(inAMinute), 60],
    [new Date(at + 86_400_000).toUTCString(), 300],
    [new Date(at - 60_000).toUTCString(), undefined],
    ['0', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['LEAK', undefined],
    ['', undefined],
    ['120, 120', undefined],
    [new Date(at + 60_000).toISOString(), undefined],
  ];
  const plain = [429, 500, 502, 503, 504, 599].map((status) => ({ name: String(status), status, ...HTML }));
  return [
    ...plain.map((answer) => ({
      ...answer,
      outcome: 'failed' as const,
      problem: 'token-endpoint-unavailable' as const,
      says: String(answer.status),
    })),
    {
      name: '500 with a token',
      status: 500,
      body: '{"access_token":"LEAK"}',
      outcome: 'failed',
      problem: 'token-endpoint-unavailable',
    },
    ...retryAfter.map(([value, retryAfterSeconds]): OtherStatus => {
      const name = `503 with retry-after ${value.slice(0, 40)}`;
      const answer = { name, status: 503, headers: { 'retry-after': value }, ...HTML };
      return {
        ...answer,
        outcome: 'failed',
        problem: 'token-endpoint-unavailable',
        ...(retryAfterSeconds && { retryAfterSeconds }),
      };
    }),
  ];
}

/** `Sat, 21 Nov 2026 12:01:00 GMT` in the two obsolete forms of RFC 9110 §5.6.7. */
function rfc850Date(date: string): string {
  const weekday = new Date(date).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  return date.replace(/^\w+, (\d\d) (\w+) \d\d(\d\d)/, `${weekday}, $1-$2-$3`);
}

function asctimeDate(date: string): string {
  return date.replace(/^(\w+), (\d\d) (\w+) (\d{4}) ([\d:]+) GMT$/, '$1 $3 $2 $5 $4');
}
