import { expect, it, onTestFinished } from 'vitest';
import { startFunctionUrl } from '../../../../local/function-url/server.ts';
import { createPageCalls } from '../../../../local/page/calls.ts';
import type { CallReport, State } from '../../../../local/page/messages.ts';
import { startPage } from '../../../../local/page/server.ts';
import { send } from '../../../support/requests.ts';

const TOKEN = 'marked-token-of-acme';

/** Its secret key must never reach the page. */
const BILLING = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'AKIDBILLING',
  secretAccessKey: 'marked-secret-access-key',
};

const CALL = { caller: BILLING.accessKeyId, operation: 'token', client: 'acme', service: 'customer-insights' };
const INCIDENT = { service: 'customer-insights', name: 'down' };

const ISSUED = { access_token: TOKEN, token_type: 'Bearer', expires_in: 60, fingerprint: '0123456789abcdef' };

const STATE: State = {
  ...{ callers: [], services: [], clients: [], table: 'recover', create: [], saved: '', requests: [], messages: [] },
};

const DENIED = { type: 'access-denied', title: 'No', detail: 'No rule.', status: 403, retryable: false };
const ACCEPTED = { client: 'acme', service: 'customer-insights', stage: 'AWSCURRENT', finding: 'accepted' };

const bad = (word: string) => ({ word, kind: 'bad' });
const FILES = ['/', '/page.css', '/page.js', '/icon.svg', '/architecture.svg'];
/** What the page may be ordered to do, each with a form for it. */
const ORDERS = [
  ['/call', CALL],
  ['/incident', INCIDENT],
  ['/schedule', {}],
] as const;

it('the page has its files and its state, and nothing else', async () => {
  const { url, own, get } = await startPageWorld();
  const types = await Promise.all(FILES.map(async (path) => (await get(path)).headers['content-type']));
  const texts = ['html', 'css', 'javascript'].map((type) => `text/${type}; charset=utf-8`);
  expect(types).toEqual([...texts, 'image/svg+xml', 'image/svg+xml']);
  expect(await get('/state')).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(await get('/audit/request-1')).toMatchObject({ status: 200, body: '{"outcome":"issued"}' });
  const absent = { status: 404, body: '{"message":"There is nothing here."}' };
  for (const path of ['/page', '/../local.ts', '/call', '/audit/request-2']) {
    expect(await get(path), path).toMatchObject(absent);
  }
  for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
    expect(await send({ method, url, headers: own, body: '' }), method).toMatchObject(absent);
  }
});

it('the page lets only its own files run, and is neither kept, nor framed, nor read by others', async () => {
  const { get, post } = await startPageWorld();
  const answers = await Promise.all([...FILES, '/state', '/audit/request-1', '/nothing'].map((path) => get(path)));
  for (const { headers } of [...answers, await post(CALL), await post('no call')]) {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
      ),
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});

/** What any server of `npm start` refuses, local.test.ts shows. */
it.each<readonly [string, number, Readonly<Record<string, string | undefined>>]>([
  ['with no origin', 403, { origin: undefined }],
  ['from another site', 403, { origin: 'https://example.com' }],
  ['as a text, for which no browser asks first', 415, { 'content-type': 'text/plain' }],
  ['as a form, for which no browser asks first', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
  ['as a text that speaks of JSON', 415, { 'content-type': 'text/plain; application/json' }],
])('no page of another site can order anything %s', async (_, status, changes) => {
  const { post, own, asked, ordered } = await startPageWorld();
  const entries = Object.entries({ ...own, ...changes }).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const headers = Object.fromEntries(entries);
  for (const [path, form] of ORDERS) expect(await post(form, { path, headers }), path).toMatchObject({ status });
  expect([...asked, ...ordered]).toEqual([]);
});

it('the page orders what it is for, in forms that have what they need and nothing more', async () => {
  const { post, asked, ordered } = await startPageWorld();
  for (const [path, form] of ORDERS) {
    const whole = { ...form, more: '' };
    for (const other of [whole, '{', [], 'x'.repeat(20_000)]) {
      expect(await post(other, { path }), path).toMatchObject({ status: 400 });
    }
  }
  expect(await post({ service: 'customer-insights' }, { path: '/incident' })).toMatchObject({ status: 400 });
  for (const other of [{ caller: 'AKIDOTHER' }, { operation: 'health-run' }]) {
    expect(await post({ ...CALL, ...other })).toMatchObject({ status: 400 });
  }
  expect([...asked, ...ordered]).toEqual([]);
  for (const [path, form] of ORDERS) expect(await post(form, { path }), path).toMatchObject({ status: 200 });
  expect(ordered).toEqual([INCIDENT, 'schedule']);
  expect(await post({ ...INCIDENT, name: 'flood' }, { path: '/incident' })).toMatchObject({ status: 400 });
});

it('the page and all that it is made of are smaller than 60 kB', async () => {
  const { get } = await startPageWorld();
  const bodies = await Promise.all(FILES.map(async (path) => (await get(path)).body.length));
  expect(bodies.reduce((sum, bytes) => sum + bytes)).toBeLessThan(60_000);
});

it('a call is signed as the caller, and shows what was sent and what came back, with neither key, token nor signature', async () => {
  const { call, asked } = await startPageWorld();
  const report = await call({ min_ttl: 60 });

  expect(asked).toEqual(['{"client":"acme","service":"customer-insights","min_ttl":60}']);
  expect(report).toMatchObject({
    outcome: { word: 'issued', kind: 'good' },
    summary: expect.stringMatching(/^billing asked for acme on customer-insights, 200 in \d+ ms$/),
    fingerprint: '0123456789abcdef',
  });
  expect(textOf(report, 'request')).toMatch(
    /^POST \S+\/token\n.*Credential=AKIDBILLING\/.*Signature=\(hidden\).*"min_ttl": 60\n}$/s,
  );
  expect(textOf(report, 'answer')).toMatch(
    /^200 OK\n.*content-type: application\/json\n.*"fingerprint": "0123456789abcdef"\n}$/s,
  );
  const sent = JSON.stringify([report, await call({ caller: BILLING.secretAccessKey })]);
  for (const hidden of [TOKEN, BILLING.secretAccessKey]) expect(sent).not.toContain(hidden);
});

it.for<readonly [string, number, unknown, object, RegExp?]>([
  ['a problem', 403, DENIED, { word: 'access-denied', kind: 'refused' }, /^Ask the operators of the broker|whoami/],
  ['a stop', 424, { ...DENIED, type: 'client-disabled' }, bad('client-disabled'), /client enable acme ends it\.$/],
  ['what AWS says', 429, { message: 'Rate Exceeded.' }, bad('AWS answered 429')],
  ['what is no JSON', 502, '<html>', bad('AWS answered 502')],
  [
    'a finding',
    200,
    { ...ACCEPTED, finding: 'secret-malformed' },
    bad('secret-malformed'),
    /^If client check acme --stage AWSPREVIOUS .* client rollback acme: .* Store \S+\/acme again/,
  ],
])('a call shows %s as it is, with the advice of the command line', async ([_, status, body, outcome, advice]) => {
  const { call } = await startPageWorld({ status, body });
  const report = await call({ operation: 'check' });

  expect(report).toMatchObject({ outcome });
  expect(textOf(report, 'request')).toMatch(/^POST \S+\/check\n/);
  expect(textOf(report, 'answer')).toContain(typeof body === 'string' ? body : JSON.stringify(body, undefined, 2));
  expect(report.advice).toEqual(advice && expect.stringMatching(advice));
});

it('a call says so when the broker is gone', async () => {
  const { post, closeBroker } = await startPageWorld();
  await closeBroker();
  expect(await post(CALL)).toMatchObject({ status: 502, body: '{"message":"The broker did not answer."}' });
});

it.each([
  ['in a member that a service is set to hand on', { access_token: 'a', refresh: { deep: [TOKEN] } }],
  ['in an answer that is no object', [TOKEN]],
])('a token comes to the page only where the call asks for it: %s', async (_, body) => {
  const { call } = await startPageWorld({ body });

  expect(JSON.stringify(await call())).not.toContain(TOKEN);
  expect(textOf(await call({ reveal: true }), 'answer')).toContain(TOKEN);
});

it.each([
  ['deleted', 'The secret is deleted.', 'client disable acme'],
  ['disabled', 'The client is disabled.', undefined],
] as const)('a call says why a token of a %s client still comes', async (state, reason, command) => {
  const { call } = await startPageWorld({ state });
  const { advice, advised } = await call();
  expect(advice).toContain(reason);
  expect(advised[0]?.name).toBe(command);
  // Another client has its own state.
  expect((await call({ client: 'globex' })).advice).toBeUndefined();
});

type Headers = Readonly<Record<string, string>>;

interface Answered {
  readonly status?: number;
  readonly body?: unknown;
  /** What an operator has done to the client. */
  readonly state?: 'disabled' | 'deleted';
}

/**
 * A page in front of a broker that gives the same answer to every request; `asked` are the bodies that reached the broker,
 * `ordered` the incidents and the runs of the schedule.
 */
async function startPageWorld({ status: statusCode = 200, body = ISSUED as unknown, state }: Answered = {}) {
  const asked: string[] = [];
  const ordered: unknown[] = [];
  const handler = async (event: { readonly body?: string | undefined }) => {
    asked.push(event.body ?? '');
    return { statusCode, body: typeof body === 'string' ? body : JSON.stringify(body) };
  };
  const broker = await startFunctionUrl({ handler, callers: [BILLING], port: 0 });
  onTestFinished(broker.close);
  const auditLine = (id: string) => (id === 'request-1' ? '{"outcome":"issued"}' : undefined);
  const clients = () => [{ name: 'acme', current: 'version-1', servicesTag: 'all', state }];
  const call = createPageCalls({ url: broker.url, callers: [BILLING], clients, auditLine, sentFor: () => [] });
  const { url, close } = await startPage({
    ...{ port: 0, state: async () => STATE, auditLine, call },
    play: (incident) =>
      ordered.push(incident) > 0 && incident.name === INCIDENT.name ? { says: 'it is down' } : undefined,
    runSchedule: async () => void ordered.push('schedule'),
  });
  onTestFinished(close);
  /** What browsers send along when the page itself asks. */
  const own: Headers = { origin: url, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

  const post = (form: unknown, { path = '/call', headers = own } = {}) =>
    send({ method: 'POST', url: url + path, headers, body: typeof form === 'string' ? form : JSON.stringify(form) });
  return {
    url,
    own,
    asked,
    ordered,
    get: (path: string, headers: Headers = {}) => send({ method: 'GET', url: url + path, headers, body: '' }),
    post,
    call: async (changes: object = {}): Promise<CallReport> => JSON.parse((await post({ ...CALL, ...changes })).body),
    closeBroker: broker.close,
  };
}

/** One of the texts of a report. */
function textOf({ texts }: CallReport, name: string): string {
  return texts.find((each) => each.name === name)?.text ?? '';
}
