import { describe, expect, it } from 'vitest';
import type { Observation } from '../../../functions/broker/health/evaluate.ts';
import { messageOf } from '../../../functions/broker/health/messages.ts';
import { START } from '../../support/example.ts';
import { everyObservation } from '../../support/health-observations.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const HOUR = 3_600_000;

describe('a message', () => {
  it('says who, what, since when, which version, and what to do', async () => {
    const messages = everyObservation(PAIR).map(([, observation]) => messageOf('dev', observation, undefined));
    const texts = messages.map(({ subject, text }) => `${'='.repeat(99)}\n${subject}\n\n${text}`);
    await expect(texts.join('\n')).toMatchFileSnapshot('health-messages.txt');
  });

  it('says which version, what was before, and what else was found out', () => {
    const observation: Observation = {
      kind: 'pair',
      pair: PAIR,
      condition: 'accepted',
      version: '11111111-1111-4111-8111-111111111111',
      since: START + HOUR + 1_999,
      at: START + 2 * HOUR,
      detail: 'Of two looks this was the second.',
    };
    const before = { condition: 'rejected', since: START, at: START } as const;
    expect(messageOf('dev', observation, before).text).toBe(`customer-insights accepts the credential of acme.

Of two looks this was the second.

environment:    dev
client:         acme
service:        customer-insights
secret:         token-broker/dev/acme
secret version: 11111111-1111-4111-8111-111111111111
finding:        accepted
since:          2026-01-01T01:00:01Z
before:         rejected since 2026-01-01T00:00:00Z

What to do: nothing.
`);
  });
});

describe('a subject, which SNS takes,', () => {
  it.each(everyObservation({ client: 'c'.repeat(63), service: 's'.repeat(63) }))(
    'is one line of at most 99 characters about %s',
    (_name, observation) => {
      const { subject } = messageOf('environment-of-name', observation, undefined);
      expect(subject).toMatch(/^[!-~][ -~]{0,98}$/);
    },
  );

  it.each([
    ['of 99 characters is whole', 's'.repeat(55), 's'.repeat(55)],
    ['of 100 characters ends in dots', 's'.repeat(56), `${'s'.repeat(52)}...`],
    ['has no other characters than those of ASCII', 'Dienst für\nalle~', 'Dienst f?r?alle~'],
  ])('%s', (_what, service, shown) => {
    const look = { condition: 'service-unknown', since: START, at: START } as const;
    const { subject } = messageOf('dev', { kind: 'pair', pair: { client: 'acme', service }, ...look }, undefined);
    expect(subject).toBe(`[token-broker dev] service-unknown: acme on ${shown}`);
  });
});
