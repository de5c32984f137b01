import { expect, it } from 'vitest';
import type { PairState } from '../../../bin/commands/shared/pair-state.ts';
import type { StoredClient } from '../../../bin/local/broker.ts';
import { createFeed, type Found } from '../../../bin/local/page/feed.ts';
import type { Cell } from '../../../bin/local/page/messages.ts';
import { describeBroker } from '../../../bin/local/page/overview.ts';
import { parseLocalConfig } from '../../../lib/settings/local-config.ts';

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

const ACME = { name: 'acme', current: 'version-2', servicesTag: 'billing' };
const NOW = Date.now();

interface Known {
  readonly client?: Partial<StoredClient>;
  readonly pair?: Partial<PairState>;
  readonly found?: Partial<Found>;
}

/** A broker with one client that has one of two services, and what record and checks know of their pair. */
function describeAcme({ client, pair, found }: Known = {}, playing?: ReadonlyMap<string, string>) {
  return describeBroker({
    ...{ url: 'http://127.0.0.1:8788', config: CONFIG, playing },
    running: [{ name: 'the broker', text: 'http://127.0.0.1:8788' }],
    clients: () => [{ ...ACME, ...client }],
    readPair: async (each) => ({ ...each, state: 'unproven', ...pair }),
    findingOf: () => found && { finding: 'unreachable', at: NOW, ...found },
  });
}

async function cellOfAcme(known: Known): Promise<Cell | undefined> {
  const { clients } = await describeAcme(known);
  return clients.find(({ name }) => name === 'acme')?.cells[0];
}

it('the page is told what is running and who may ask for what, and nothing of what is sent to the services', async () => {
  const told = await describeAcme();

  expect(told).toMatchObject({
    running: [
      { name: 'the broker', text: 'http://127.0.0.1:8788' },
      { name: 'billing', text: 'https://auth.example.com/oauth/token' },
      { name: 'orders', text: 'https://orders.example.com/auth/v1/token' },
    ],
    services: ['billing', 'orders'],
    callers: [
      {
        id: 'AKIDME',
        name: 'me',
        allowed: [
          ...['token acme/billing', 'token umbrella/billing'],
          ...['check acme/orders', 'check umbrella/orders'],
        ],
      },
    ],
    stages: [],
  });
  expect(JSON.stringify(told)).not.toContain('marked');
});

it('the board has the clients that have a secret and those that a rule names, and the commands that change them', async () => {
  const { clients } = await describeAcme();

  expect(clients.map(({ name, cells }) => [name, ...cells.map(({ word }) => word)])).toEqual([
    ['acme', 'unproven', '-'],
    ['umbrella', 'secret-missing', 'secret-missing'],
  ]);
  expect(clients[0]?.commands.map(({ name }) => name)).toEqual([
    ...['client show acme', 'client put acme', 'client disable acme'],
  ]);
});

it.for<readonly [string, Known, Partial<Cell>]>([
  ['what the record says', { pair: { state: 'rejected' } }, { word: 'rejected', severity: 'bad' }],
  [
    'until when a pause lasts',
    { pair: { state: 'paused', until: 5 } },
    { word: 'paused', severity: 'passing', until: 5 },
  ],
  [
    'what keeps the pair waiting',
    { pair: { state: 'held', until: 5 }, found: {} },
    { word: 'held', until: 5, finding: 'unreachable' },
  ],
  ['what the last check found', { found: {} }, { word: 'unreachable', severity: 'passing' }],
  ['that a token came after it', { pair: { state: 'ok', provenAt: NOW }, found: { at: NOW - 1 } }, { word: 'ok' }],
  ['nothing of another version', { found: { version: 'version-1' } }, { word: 'unproven' }],
  ['nothing of a latch that was cleared', { found: { finding: 'rejected' } }, { word: 'unproven', severity: 'idle' }],
  ['a client that was stopped', { client: { state: 'disabled' } }, { word: 'disabled', severity: 'idle' }],
  ['a client that was deleted', { client: { state: 'deleted' } }, { word: 'deleted', severity: 'idle' }],
])('a cell of the board shows %s', async ([, known, expected]) => {
  expect(await cellOfAcme(known)).toMatchObject(expected);
});

it('a cell of the board shows how long its token lives, and which part of its life that is where it is known', async () => {
  const tokenExpiresAt = NOW + 1_800_500;
  const token = { tokenExpiresAt, provenAt: NOW - 1_800_500 };
  expect(await cellOfAcme({ pair: { state: 'ok', ...token } })).toMatchObject({
    token: { lives: '30 min', part: expect.closeTo(0.5, 2) },
  });
  expect(await cellOfAcme({ pair: { state: 'rejected', tokenExpiresAt } })).toMatchObject({
    token: { lives: '30 min', part: undefined },
  });
});

it('the page is told what each service of the stand-in plays, and how to play it from a terminal', async () => {
  const { stages } = await describeAcme({}, new Map([['billing', 'down']]));

  expect(stages.map(({ service, plays }) => [service, plays.name])).toEqual([
    ['billing', 'down'],
    ['orders', 'recover'],
  ]);
  expect(stages[0]?.plays.command.text).toMatch(/ -- env operator\)"\n.* -- service billing --down\)$/);
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
  return feed.told('http://127.0.0.1:8788');
}

it.each([
  ['a token from memory', { cache: 'memory' }, { origin: 'memory' }],
  ['a check', { operation: 'check', outcome: 'accepted', cache: undefined }, { origin: 'check' }],
  ['a denial', { outcome: 'access-denied' }, { outcome: { word: 'access-denied', kind: 'refused' } }],
  ['a rejection', { outcome: 'credential-rejected' }, { outcome: { word: 'credential-rejected', kind: 'bad' } }],
  ['a request for no pair', { pair: undefined, operation: undefined, caller: undefined }, { subject: '' }],
])('the list of requests tells of %s', (_, changes, expected) => {
  expect(toldAfter(line(changes)).requests).toMatchObject([expected]);
});

it('the list of requests has each request once, those too that AWS answered by itself, and no line about others', () => {
  const feed = createFeed(() => 2_000);
  const answered = { method: 'POST', path: '/token', status: 200, failure: undefined };
  feed.audit(line());
  feed.audit(line({ Requests: undefined, operation: 'health', requestId: 'request-0' }));
  feed.answered({ ...answered, requestId: 'request-1' });
  feed.answered({ ...answered, requestId: 'request-2', status: 403 });
  feed.answered({ ...answered, requestId: 'request-3', status: 502, failure: new Error('marked-failure') });

  expect(feed.told('').requests).toEqual([
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

/** A request of a run of the schedule. */
function check(requestId: string, changes: object = {}): string {
  const caller = 'aws:111111111111:token-broker-health-local/local-session';
  return line({ requestId, caller, operation: 'check', outcome: 'accepted', cache: undefined, ...changes });
}

const probe = { caller: 'aws:111111111111:token-broker-probe-local/local-session', operation: 'token' };

it('the list of requests has one row for a run of the schedule, whatever else is asked meanwhile', () => {
  const { requests } = toldAfter(
    check('check-1'),
    line(),
    check('check-2'),
    check('probe-1', { ...probe, outcome: 'access-denied' }),
    check('probe-2', { ...probe, operation: 'whoami', outcome: 'identified' }),
    check('check-3', { _aws: { Timestamp: 60_000 }, outcome: 'rejected' }),
  );

  expect(requests).toMatchObject([
    { outcome: { word: 'checked', kind: 'bad' }, subject: '1 rejected', folded: [{ id: 'check-3' }] },
    { outcome: { word: 'checked', kind: 'good' }, subject: '1 probe access-denied, 2 accepted' },
    SEEN,
  ]);
  expect(requests[1]?.folded?.map(({ id }) => id)).toEqual(['probe-2', 'probe-1', 'check-2', 'check-1']);
});

it('a run of the schedule is no good when the probe gets a token', () => {
  const { requests } = toldAfter(check('check-1'), check('probe-1', { ...probe, outcome: 'issued' }));
  expect(requests).toMatchObject([{ outcome: { kind: 'bad' }, subject: '1 accepted, 1 probe issued' }]);
});

it('what the broker saved is counted from the audit lines', () => {
  const { saved } = toldAfter(
    line({ TokenRequests: 1 }),
    line({ cache: 'memory' }),
    line({ cache: 'memory' }),
    line({ cache: 'shared' }),
    line({ cache: undefined, outcome: 'token-endpoint-unavailable', TokenRequests: 2 }),
  );
  expect(Object.fromEntries(saved.map(({ name, text }) => [name, text]))).toEqual({
    ...{ calls: '5', 'from memory': '2', 'from the table': '1', 'token requests': '3' },
  });
});

it.each([
  ['a check', { operation: 'check', outcome: 'unreachable' }, 'unreachable'],
  ['a token request', { TokenRequests: 1 }, 'accepted'],
  ['a token that was there', { cache: 'memory' }, undefined],
  ['a problem', { outcome: 'token-endpoint-unavailable' }, undefined],
])('a pair has the finding of %s', (_, changes, expected) => {
  const feed = createFeed();
  feed.audit(line({ credentialVersion: 'version-1', ...changes }));
  const found = expected && { finding: expected, at: 1_000, version: 'version-1' };
  expect(feed.findingOf('acme/customer-insights')).toEqual(found);
});

it('messages to the operators come newest first, with each command that they name, ready to be pasted', () => {
  const feed = createFeed(() => 3_000);
  feed.message({ subject: 'first', text: 'Nothing to do.' });
  feed.message({
    subject: 'second',
    text: 'Store it with `client put acme`, then `client retry acme` and `see-the-log`.',
  });
  const [second, first] = feed.told('http://127.0.0.1:9000').messages;

  expect(first).toEqual({ at: 3_000, subject: 'first', text: 'Nothing to do.', commands: [] });
  expect(second?.commands).toEqual([
    {
      name: 'client put acme',
      text: expect.stringMatching(/^\(eval "\$\(PORT=9000 .* env operator\)"\n.* client put acme\)$/),
    },
    { name: 'client retry acme', text: expect.stringMatching(/ client retry acme\)$/) },
  ]);
});
