import { describe, expect, it } from 'vitest';
import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { HOUR_MS, MINUTE_MS, PAIR, START } from '../support/example.ts';
import { nameOf } from '../support/fleet/fleet.ts';
import { ALL_FAULTS, COSTLY, count, explore, type Fault, type Scenario } from '../support/pair/interleaving.ts';
import { oldToken } from '../support/pair/pair-examples.ts';

/** They cost the length of a lease, or end before it. */
const SLOW: readonly Fault[] = ['crash', 'delay', 'freeze', 'late', 'busy-then-late', 'item-restored'];
/** The caller who meets them is sent away, and told when to come back. */
const LASTING: readonly Fault[] = ['no-key', 'refused'];

/** After these the record need not hold a rejection: a write that fails once is repeated. */
const UNTOLD: readonly Fault[] = ['crash', 'item-lost', 'item-restored'];
/** They cost nothing: neither a request nor an answer. */
const BUSY = { faults: ['busy-read', 'busy-write'], maxFaults: 2 } as const;

const OLD_TOKEN = oldToken();
const PUBLISHED: Partial<PairRecord> = { token: OLD_TOKEN, attemptedAt: START - HOUR_MS };

describe.each<[string, Scenario]>([
  ['nothing is known', {}],
  ['the token is in its soft window', { record: { ...PUBLISHED, token: { ...OLD_TOKEN, refreshAt: START } } }],
  ['the service has refused the token', { record: PUBLISHED, request: { refused: OLD_TOKEN.fingerprint } }],
])('in every interleaving of two instances, when %s,', (_, scenario) => {
  it('there is one token request, and every caller gets a token, also with a busy read and a busy write at every place', async () => {
    await explore({ ...scenario, ...BUSY }, ({ answers, requests, record }) => {
      expect(requests).toMatchObject([{ version: 'v1', outcome: 'token' }]);
      expect(answers.map(nameOf)).toContain('token-1000000000');
      expect(answers.every((answer) => answer?.issue)).toBe(true);
      expect(record).toMatchObject({ lease: undefined, token: { fingerprint: 'token-1000000000' } });
    });
  });

  it('every fault costs at most one request more, every survivor answers, and nothing stays stuck', async () => {
    await explore({ ...scenario, faults: ALL_FAULTS }, async ({ answers, requests, faults, later, now }) => {
      expect(requests.length).toBeLessThanOrEqual(1 + count(faults, COSTLY));
      expect(answers.filter((answer) => answer === undefined)).toHaveLength(count(faults, ['crash']));
      for (const answer of answers) {
        // An instance that forced a new token and died has used up the one of this half minute.
        const known = ['refused-again', ...(count(faults, LASTING) > 0 ? ['table-unavailable'] : [])];
        if (answer?.problem) expect(known).toContain(answer.problem.type);
      }
      const mostMs = count(faults, ['delay', 'freeze']) > 0 ? 2 * 6_000 : count(faults, SLOW) > 0 ? 6_000 : 0;
      expect(now - START).toBeLessThan(mostMs + 1_000);
      expect((await later(MINUTE_MS)).issue).toBeDefined();
    });
  });
});

describe('a credential that the service rejects', () => {
  const scenario: Scenario = { accepted: new Set() };

  it('is sent once in every interleaving, and every caller hears of it, also with a busy read and a busy write at every place', async () => {
    await explore({ ...scenario, ...BUSY }, ({ answers, requests, record }) => {
      expect(requests).toMatchObject([{ version: 'v1', outcome: 'rejected' }]);
      expect(answers.map(nameOf)).toEqual(['credential-rejected', 'credential-rejected']);
      expect(record.rejected.get('v1')).toMatchObject({ count: 1 });
    });
  });

  it('is sent once more at most for each fault, and every rejection that was reported is counted', async () => {
    await explore({ ...scenario, faults: ALL_FAULTS }, async ({ requests, faults, record, later }) => {
      expect(requests.length).toBeLessThanOrEqual(1 + count(faults, COSTLY));
      const counted = record.rejected.get('v1')?.count ?? 0;
      expect(counted).toBeLessThanOrEqual(requests.length);
      expect(counted).toBeGreaterThanOrEqual(requests.length - count(faults, UNTOLD));
      expect(nameOf(await later(MINUTE_MS))).toBe('credential-rejected');
    });
  });

  it('whose chance is due is charged before it is sent: a crash loses the chance, it never repeats it', async () => {
    const rejected = new Map([['v1', { count: 2, at: START - 2 * HOUR_MS, by: 'another' }]]);
    await explore({ ...scenario, record: { rejected }, faults: ['crash'] }, async ({ requests, later }) => {
      expect(nameOf(await later(24 * HOUR_MS))).toBe('credential-rejected');
      expect(requests.length).toBeLessThanOrEqual(1);
    });
  });

  it('is sent once however the operator replaces it meanwhile, and the new one brings a token', async () => {
    const operator: Scenario['operator'] = ({ surroundings }) => {
      surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    };
    await explore({ accepted: new Set(['v2']), operator }, async ({ requests, later }) => {
      expect(requests.filter(({ version }) => version === 'v1').length).toBeLessThanOrEqual(1);
      expect(nameOf(await later(5 * MINUTE_MS))).toMatch(/^token-/);
    });
  });
});

it('a secret that is deleted between the steps of a call leaves no token once a check has said so, and none comes back', async () => {
  await explore(
    {
      record: PUBLISHED,
      request: { refused: OLD_TOKEN.fingerprint },
      callers: 1,
      hasCheck: true,
      operator: ({ surroundings }) => {
        surroundings.stages = {};
      },
      faults: ['crash', 'delay', 'freeze'],
    },
    async ({ finding, record, later }) => {
      if (finding?.finding !== 'secret-missing') return;
      expect(record.token).toBeUndefined();
      expect(nameOf(await later(MINUTE_MS))).toBe('credential-missing');
    },
  );
});

it('a client that is disabled meanwhile stays so, with every fault but a lost item', async () => {
  const operator: Scenario['operator'] = ({ shared }) =>
    shared.change(PAIR, (record) => ({ ...record, disabled: { since: START } }));
  const faults = ALL_FAULTS.filter((fault) => !fault.startsWith('item-'));
  await explore({ operator, faults, callers: 1 }, async ({ record, later }) => {
    expect(record.disabled).toEqual({ since: START });
    expect(nameOf(await later(MINUTE_MS))).toBe('client-disabled');
  });
});

it('a service that is down is asked once in every interleaving, and every caller hears when to come back', async () => {
  const answer = () => new Problem('token-endpoint-unavailable', 'down');
  await explore({ answer, ...BUSY }, ({ answers, requests, record }) => {
    expect(requests).toHaveLength(1);
    expect(answers.map(nameOf)).toEqual(['token-endpoint-unavailable', 'token-endpoint-unavailable']);
    expect(record.pause).toMatchObject({ step: 1 });
  });
});
