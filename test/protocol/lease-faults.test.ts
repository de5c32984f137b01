import { expect, it } from 'vitest';
import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, START } from '../support/example.ts';
import { ALL_FAULTS, COSTLY, count, explore, nameOf, type Scenario } from '../support/pair/interleaving.ts';
import { oldToken } from '../support/pair/pair-examples.ts';

/** The explorations have tens of thousands of orders, for which a busy machine needs minutes. */
const EXPLORING = { timeout: 3_600_000 };

const OLD_TOKEN = oldToken();
const PUBLISHED: Partial<PairRecord> = { token: OLD_TOKEN, attemptedAt: START - HOUR_MS };
/** Every two of four: a case for all of them would last longer than a busy machine has. */
const TWO_FAULTS = (['crash', 'unavailable', 'freeze', 'item-lost'] as const).flatMap((one, n, all) =>
  all.slice(n + 1).map((other) => [one, other]),
);

it.each<[string, Partial<Scenario>]>([
  ...TWO_FAULTS.map((faults): [string, Scenario] => [faults.join(' and '), { faults, maxFaults: 2 }]),
  ['one lost answer, one late answer and one crash', { faults: ['answer-lost', 'late', 'crash'], maxFaults: 3 }],
])(
  'in every interleaving, also with %s, one pair never costs more than they explain',
  EXPLORING,
  async (_, scenario) => {
    await explore(scenario, async ({ answers, requests, faults, later }) => {
      expect(requests.length).toBeLessThanOrEqual(1 + count(faults, COSTLY));
      expect(answers.filter((answer) => answer === undefined)).toHaveLength(count(faults, ['crash']));
      expect((await later(MINUTE_MS)).issue).toBeDefined();
    });
  },
);

it.each<[string, Partial<Scenario>]>([
  ['of two callers', {}],
  ['of a caller that may crash or be frozen', { faults: ['crash', 'delay', 'freeze', 'repeated'], callers: 1 }],
])(
  'a secret that is deleted between the steps %s leaves no token once a check has said so, and none comes back',
  EXPLORING,
  async (_, changes) => {
    const record = PUBLISHED;
    const request = { refused: OLD_TOKEN.fingerprint };
    const operator: Scenario['operator'] = ({ surroundings }) => {
      surroundings.stages = {};
    };
    await explore({ record, request, operator, hasCheck: true, ...changes }, async ({ finding, record, later }) => {
      if (finding?.finding !== 'secret-missing') return;
      expect(record.token).toBeUndefined();
      expect(nameOf(await later(MINUTE_MS))).toBe('credential-missing');
    });
  },
);

it(
  'a client that is disabled meanwhile stays so in every interleaving, with every fault but a lost item',
  EXPLORING,
  async () => {
    const operator: Scenario['operator'] = ({ shared }) =>
      shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, disabled: { since: START } }));
    const faults = ALL_FAULTS.filter((fault) => !fault.startsWith('item-'));
    await explore({ operator, faults }, async ({ record, later }) => {
      expect(record.disabled).toEqual({ since: START });
      expect(nameOf(await later(MINUTE_MS))).toBe('client-disabled');
    });
  },
);
