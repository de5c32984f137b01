import { expect, it } from 'vitest';
import type { PairState } from '../../../../functions/aws/pair-table/pair-state.ts';
import { parseLocalConfig } from '../../../../lib/settings/local-config.ts';
import { createFeed, type Found } from '../../../../local/page/feed.ts';
import type { Cell } from '../../../../local/page/messages.ts';
import { describeBroker, type StoredClient } from '../../../../local/page/overview.ts';
import type { SentRequest } from '../../../../local/recorder.ts';

const ME = 'arn:aws:iam::111111111111:role/team/me';

const CONFIG = parseLocalConfig({
  services: {
    billing: {
      authUrl: 'https://auth.example.com',
      tokenPath: '/oauth/token',
      parameters: { api_key: 'marked-parameter' },
      headers: { 'x-api-key': 'marked-header' },
    },
    orders: { authUrl: 'https://orders.example.com' },
  },
  accessRules: [
    { role: ME, clients: ['acme', 'umbrella'], services: ['billing'] },
    { role: ME, clients: 'all', services: ['orders'], operations: ['check'] },
  ],
  callers: [{ role: ME, accessKeyId: 'AKIDME', secretAccessKey: 'marked-key' }],
  credentials: { hooli: { client_id: 'marked-id', secret: 'marked-secret', services: 'all' } },
});

const NOW = Date.now();

/** A request to the service that got no answer. */
const SENT: SentRequest = { to: 'service', status: undefined, milliseconds: 1 };

interface Known {
  readonly pair?: Partial<PairState>;
  readonly client?: Partial<StoredClient>;
  readonly found?: Partial<Found> | ReadonlyMap<string, Partial<Found>>;
  readonly sent?: readonly SentRequest[];
}

/** A broker with one client that has one of two services, and what record and checks know of their pair. */
function describeAcme(
  { pair, found, client, sent = [SENT] }: Known,
  playing?: ReadonlyMap<string, string>,
  others: readonly StoredClient[] = [],
) {
  return describeBroker({
    ...{ url: 'http://127.0.0.1:8788', config: CONFIG, playing, table: 'recover' },
    clients: () => [{ name: 'acme', current: 'version-2', servicesTag: 'billing', ...client }, ...others],
    readPair: async (each) => ({ ...each, state: 'unproven', ...pair }),
    findingOf: (name) => {
      const finding = found instanceof Map ? found.get(name) : found;
      return finding && { id: 'request-1', finding: 'unreachable', at: NOW, ...finding };
    },
    sentFor: () => sent,
  });
}

it('the page gets services, callers, clients and incidents, and nothing that is sent to the services', async () => {
  const told = await describeAcme({}, new Map([['billing', 'down']]));

  expect(told).toMatchObject({
    services: [
      { name: 'billing', plays: 'down', trouble: 'down' },
      { name: 'orders', plays: 'recover' },
    ],
    table: 'recover',
    callers: [
      {
        id: 'AKIDME',
        name: 'me',
        allowed: ['token acme/billing', 'token umbrella/billing', 'check acme/orders', 'check umbrella/orders'],
      },
    ],
    // A client has a secret, or a rule names it.
    clients: [
      { name: 'acme', cells: [{ word: 'not tried yet' }, { word: '-' }] },
      { name: 'umbrella', cells: [{ word: 'secret-missing' }, { word: 'secret-missing' }] },
    ],
  });
  expect(JSON.stringify(told)).not.toContain('marked');
});

/** The states of a record alone, page-board.test.ts shows. */
it.for<readonly [string, Known, Partial<Cell>]>([
  [
    'what keeps the pair waiting, and what the last check found',
    { pair: { state: 'held', until: 5 }, found: {} },
    { word: 'held', until: 5, severity: 'passing', note: 'failed 0 s ago: no answer' },
  ],
  [
    'that a token request failed with an answer',
    { pair: { state: 'ok' }, found: { at: NOW - 4_000 }, sent: [{ ...SENT, status: 429 }] },
    { word: 'ok', severity: 'passing', note: expect.stringMatching(/^failed [45] s ago: answer 429$/) },
  ],
  [
    'a pause that no request was sent in',
    { found: {}, sent: [] },
    { word: 'failed', severity: 'passing', note: '0 s ago: the pair is paused' },
  ],
  [
    'how soon a stop is in force',
    { pair: { state: 'disabled', since: NOW - 19_000 }, found: {} },
    { severity: 'stopped', note: expect.stringMatching(/^in force within (40|41) s, answers from memory until then$/) },
  ],
  [
    'since when a stop is in force',
    { pair: { state: 'disabled', since: NOW - 60_000, tokenExpiresAt: NOW + 1_000_000 } },
    { severity: 'stopped', since: NOW - 60_000 },
  ],
  [
    'that a deleted client, unlike a disabled one, has tokens until they expire',
    { client: { state: 'deleted' }, pair: { state: 'ok', tokenExpiresAt: NOW + 3_600_000, provenAt: NOW - 1 } },
    {
      word: 'deleted',
      severity: 'passing',
      note: expect.stringMatching(/^tokens until \d\d:\d\d$/),
      token: { part: expect.closeTo(1, 2) },
    },
  ],
  [
    'that a deleted client has no token',
    { client: { state: 'deleted' } },
    { word: 'deleted', severity: 'passing', note: undefined, token: undefined },
  ],
  [
    'that a client was stopped before it was deleted',
    { client: { state: 'deleted' }, pair: { state: 'disabled', since: NOW - 60_000 } },
    { word: 'disabled', severity: 'stopped' },
  ],
  ['that a token came after it', { pair: { state: 'ok', provenAt: NOW }, found: { at: NOW - 1 } }, { word: 'ok' }],
  ['nothing of another version', { found: { version: 'version-1' } }, { word: 'not tried yet', severity: 'idle' }],
  [
    'how long its token lives, and which part of its life that is',
    { pair: { state: 'ok', tokenExpiresAt: NOW + 1_800_500, provenAt: NOW - 1_800_500 } },
    { token: { lives: '30 min', part: expect.closeTo(0.5, 2) } },
  ],
])('a cell of the board shows %s', async ([, known, expected]) => {
  const { clients, services } = await describeAcme(known);
  // The services of a configuration play no incidents.
  expect(services.filter(({ plays }) => plays)).toEqual([]);
  expect(clients.find(({ name }) => name === 'acme')?.cells[0]).toMatchObject(expected);
});

it('clients are in the natural order of their names', async () => {
  const stored = (name: string) => ({ name, current: undefined, servicesTag: undefined });
  const others = ['client-10', 'client-9', 'client-1', 'Client-2'].map(stored);
  const { clients } = await describeAcme({}, undefined, others);
  const inOrder = ['acme', 'client-1', 'Client-2', 'client-9', 'client-10', 'umbrella'];
  expect(clients.map(({ name }) => name)).toEqual(inOrder);
});

it.each<readonly [string, Partial<Found>, string | undefined]>([
  ['while its newest answer is a failure', { at: NOW }, 'down'],
  ['no longer than until another pair succeeds', { at: NOW - 2 }, undefined],
])('a service of a configuration is in trouble %s', async (_, found, trouble) => {
  const findings = new Map<string, Partial<Found>>([
    ['acme/billing', found],
    ['umbrella/billing', { at: NOW - 1, finding: 'accepted' }],
  ]);
  const { services } = await describeAcme({ found: findings });
  expect(services.map((service) => service.trouble)).toEqual([trouble, undefined]);
});

/** An audit line as the broker writes it. */
function line(changes: object = {}): string {
  return JSON.stringify({
    _aws: { Timestamp: 1_000 },
    outcome: 'issued',
    Requests: 1,
    TokenRequests: 0,
    Duration: 12.4,
    requestId: 'request-1',
    operation: 'token',
    caller: 'aws:111111111111:billing/local-session',
    pair: 'acme/customer-insights',
    cache: 'none',
    fingerprint: 'marked-fingerprint',
    cause: 'marked-cause',
    ...changes,
  });
}

const SEEN = {
  id: 'request-1',
  at: 1_000,
  outcome: { word: 'issued', kind: 'good' },
  caller: 'billing',
  subject: 'acme/customer-insights',
  origin: 'a token request',
  milliseconds: 12,
};

/** What the page is told after these audit lines. */
function toldAfter(...lines: readonly string[]) {
  const feed = createFeed();
  for (const each of lines) feed.audit(each);
  return feed.events('http://127.0.0.1:8788');
}

it('the list of requests has each request once, those too that AWS answered by itself, and no line about others', () => {
  const feed = createFeed(() => 2_000);
  const answered = { method: 'POST', path: '/token', status: 200, failure: undefined };
  feed.audit(line());
  feed.audit(line({ Requests: undefined, operation: 'health', requestId: 'request-0' }));
  feed.answered({ ...answered, requestId: 'request-1' });
  feed.answered({ ...answered, requestId: 'request-2', status: 403 });
  feed.answered({ ...answered, requestId: 'request-3', status: 502, failure: new Error('marked-failure') });

  expect(feed.events('').requests).toEqual([
    { id: 'request-3', at: 2_000, outcome: { word: 'function failed', kind: 'bad' }, subject: 'POST /token' },
    { id: 'request-2', at: 2_000, outcome: { word: 'AWS answered 403', kind: 'bad' }, subject: 'POST /token' },
    SEEN,
  ]);
  expect(feed.auditLine('request-1')).toBe(line());
  expect(feed.auditLine('request-2')).toBeUndefined();
});

it('the list of requests has the last thirty, newest first', () => {
  const lines = Array.from({ length: 35 }, (_, count) => line({ requestId: `${count}`, Duration: count }));
  const expected = Array.from({ length: 30 }, (_, count) => 34 - count);
  expect(toldAfter(...lines).requests.map(({ milliseconds }) => milliseconds)).toEqual(expected);
});

it('the list of requests has one row for a run of the schedule, which is no good when the probe gets a token', () => {
  const check = (requestId: string, changes: object = {}) => {
    const caller = 'aws:111111111111:token-broker-health-local/local-session';
    return line({ requestId, caller, operation: 'check', outcome: 'accepted', cache: undefined, ...changes });
  };
  const probe = { caller: 'aws:111111111111:token-broker-probe-local/local-session', operation: 'token' };
  const { requests } = toldAfter(
    check('check-1'),
    line(),
    check('probe-1', { ...probe, outcome: 'access-denied' }),
    check('probe-2', { ...probe, operation: 'whoami', outcome: 'identified' }),
    check('probe-3', { ...probe, _aws: { Timestamp: 60_000 }, outcome: 'issued' }),
  );

  expect(requests).toMatchObject([
    {
      outcome: { word: 'schedule', kind: 'bad' },
      subject: 'nothing checked',
      origin: 'probe: 1 issued',
      folded: [{ id: 'probe-3' }],
    },
    { outcome: { word: 'schedule', kind: 'good' }, subject: '1 accepted', origin: 'probe: 1 access-denied' },
    SEEN,
  ]);
  expect(requests[1]?.folded).toMatchObject([{ id: 'probe-2' }, { id: 'probe-1' }, { id: 'check-1', origin: 'check' }]);
});

it.each([
  ['a check', { operation: 'check', outcome: 'unreachable' }, 'unreachable'],
  ['a token request', { TokenRequests: 1 }, 'accepted'],
  ['a call that failed', { outcome: 'token-endpoint-unavailable' }, 'unreachable'],
  ['a call that no rule allows', { outcome: 'access-denied' }, undefined],
  ['a call with a mistake', { outcome: 'invalid-request' }, undefined],
  ['a token that was there', { cache: 'memory' }, undefined],
])('a pair has the finding of %s', (_, changes, expected) => {
  const feed = createFeed();
  feed.audit(line({ credentialVersion: 'version-1', ...changes }));
  const found = expected && { id: 'request-1', finding: expected, at: 1_000, version: 'version-1' };
  expect(feed.findingOf('acme/customer-insights')).toEqual(found);
});

it('messages to the operators come newest first, each with the commands that it names', () => {
  const feed = createFeed();
  for (const text of ['Nothing to do.', 'Try `client retry acme`, then `see-the-log`.'])
    feed.message({ subject: '', text });
  const { messages } = feed.events('http://127.0.0.1:9000');
  expect(messages.map(({ commands }) => commands.map(({ name }) => name))).toEqual([['client retry acme'], []]);
});

it('tokens without a token request are counted', () => {
  const feed = createFeed();
  expect(feed.events('').saved).toBe('no token yet');
  feed.audit(line({ TokenRequests: 1 }));
  feed.audit(line({ cache: 'memory' }));
  feed.audit(line({ cache: 'shared' }));
  feed.audit(line({ operation: 'check', outcome: 'accepted', TokenRequests: 1 }));
  expect(feed.events('').saved).toBe('2 of 3 tokens without a request to the service');
});
