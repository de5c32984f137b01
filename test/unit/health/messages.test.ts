import { expect, it } from 'vitest';
import { observationsOf as allObservationsOf, messagesPage } from '../../../docs/messages.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import type { Observation } from '../../../functions/health/rules/evaluate.ts';
import { messageOf } from '../../../functions/health/rules/messages.ts';
import { CAUSE_ADVICE } from '../../../functions/vocabulary.ts';
import { HOUR_MS, PAIR, START } from '../../support/example.ts';
import { clientsNamed } from './health-world.ts';

const look = { since: START, at: START };
const observationsOf = (pair: Pair) => allObservationsOf(pair, START);

it('a message says who, what, since when, which version, and what to do', async () => {
  const observations = observationsOf(PAIR);
  const causes = Object.keys(CAUSE_ADVICE).slice(0, 4);
  const ofThrottled = { kind: 'pair', pair: PAIR, condition: 'throttled', ...look } as const;
  const throttled = causes.map((cause) => ({ ...ofThrottled, cause }));
  const credentialExpiresAt = new Date(START).toISOString();
  const expired = { kind: 'pair', pair: PAIR, condition: 'rejected', credentialExpiresAt, ...look } as const;
  const expiring = clientsNamed(25).map(({ client }) => {
    const [expiry] = observationsOf({ client, service: PAIR.service }).filter(({ kind }) => kind === 'expiry');
    return expiry ?? expired;
  });
  const ofClient = observations.filter(({ condition }) => /^(rejected|ended)$/.test(condition));
  const write = (group: readonly Observation[]) =>
    messageOf(
      'dev',
      group.map((observation) => ({ observation, before: undefined })),
    );
  const brief = [...observations, ...throttled, expired].map((observation) => {
    const { subject, text } = write([observation]);
    const [sentence, ...rest] = text.split('\n\n');
    return `${subject}\n${sentence}\n${rest.find((paragraph) => paragraph.startsWith('What to do'))}\n`;
  });
  const incident = observations.filter(({ kind, condition }) => kind === 'service' && condition === 'incident');
  const whole = [incident, expiring.slice(0, 3), expiring, ofClient].map((group) => {
    const { subject, text } = write(group);
    return `${'='.repeat(99)}\n${subject}\n\n${text}`;
  });
  await expect([...brief, ...whole].join('\n')).toMatchFileSnapshot('messages.txt');
});

it('a message names the version, the condition before, and further findings', () => {
  const [accepted] = observationsOf({ client: 'acme', service: 'customer-insights' });
  const more = { version: 'v7', since: START + HOUR_MS + 1_999, detail: 'Of two looks this was the second.' };
  const before = { condition: 'rejected', since: START, at: START } as const;
  const { text } = messageOf('dev', [{ observation: { ...(accepted as Observation), ...more }, before }]);
  expect(text).toContain('\n\nOf two looks this was the second.\n\n');
  expect(text).toContain('\nsecret version: v7\nfinding:        accepted\nsince:          2026-01-01T01:00:01Z\n');
  expect(text).toContain('\nbefore:         rejected since 2026-01-01T00:00:00Z\n');
});

it('a subject is one line of at most 99 characters, which SNS takes', () => {
  for (const observation of observationsOf({ client: 'c'.repeat(63), service: 's'.repeat(63) })) {
    expect(messageOf('environment-of-name', [{ observation, before: undefined }]).subject).toMatch(
      /^[!-~][ -~]{0,98}$/,
    );
  }
  const subjectOf = (service: string) =>
    messageOf('dev', [
      {
        observation: { kind: 'pair', pair: { client: 'acme', service }, condition: 'disabled', ...look },
        before: undefined,
      },
    ]).subject;
  const start = '[token-broker dev] disabled: acme on ';
  expect(subjectOf('s'.repeat(62))).toBe(start + 's'.repeat(62));
  expect(subjectOf('s'.repeat(63))).toBe(`${start}${'s'.repeat(59)}...`);
});

it('docs/messages.md describes all that the broker says, and has a row for the last line of each message', async () => {
  const page = messagesPage();
  await expect(page).toMatchFileSnapshot('../../../docs/messages.md');
  for (const observation of observationsOf(PAIR)) {
    const { text } = messageOf('dev', [{ observation, before: undefined }]);
    const [, anchor] = /\ndocs\/messages\.md#(\S+)\n$/.exec(text) ?? [];
    expect(page).toContain(`<a id="${anchor}"></a>`);
  }
  expect(page.split(/\s+/).length).toBeLessThan(2_500);
});
