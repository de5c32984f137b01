import { describe, expect, it } from 'vitest';
import { CONDITIONS, type Observation } from '../../../functions/broker/health-memory.ts';
import { messageOf } from '../../../functions/broker/health-message.ts';
import { runCommandLine } from '../../bin/commands/command-line.ts';
import { START } from '../../support/example.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const HOUR = 3_600_000;

describe('a message', () => {
  it('says who, what, since when, which version, and what to do', () => {
    const observation: Observation = {
      kind: 'pair',
      pair: PAIR,
      condition: 'rejected',
      version: '11111111-1111-4111-8111-111111111111',
      since: START + HOUR,
      at: START + 2 * HOUR,
    };
    expect(messageOf('dev', observation, undefined)).toEqual({
      subject: '[token-broker dev] rejected: acme on customer-insights',
      text: `customer-insights rejects the credential of acme. The broker sends this version at most twice more, so that the account is not locked; callers are served with the version before it as long as that one is accepted.

environment:    dev
client:         acme
service:        customer-insights
secret:         token-broker/dev/acme
secret version: 11111111-1111-4111-8111-111111111111
finding:        rejected
since:          2026-01-01T01:00:00Z
before:         nothing to report

What to do: get the right credential from customer-insights and store it:
  npm run token-broker -- client put acme --environment dev
If the credential is right after all, let it be sent again:
  npm run token-broker -- client retry acme --environment dev
`,
    });
  });

  it('says what was before', () => {
    const observation: Observation = {
      kind: 'pair',
      pair: PAIR,
      condition: 'accepted',
      since: START + HOUR,
      at: START,
    };
    const { text } = messageOf('dev', observation, { condition: 'rejected', since: START, at: START });
    expect(text).toContain('since:          2026-01-01T01:00:00Z\nbefore:         rejected since 2026-01-01T00:00:00Z');
  });

  it.each(observations())('has a subject that SNS takes, about %s', (_name, observation) => {
    const { subject, text } = messageOf('environment-of-name', observation, undefined);
    expect(subject).toMatch(/^[!-~][ -~]{0,98}$/);
    expect(text).toMatch(/\nfinding: +[a-z-]+\nsince: +2026-01-01T00:00:00Z\n/);
    expect(text).toMatch(/\n\nWhat to do: .+\n$/s);
  });

  it('is never the same about two conditions', () => {
    const all = observations().map(([, observation]) => messageOf('dev', observation, undefined));
    expect(new Set(all.map(({ subject }) => subject)).size).toBe(all.length);
    expect(new Set(all.map(({ text }) => text)).size).toBe(all.length);
  });
});

it('names no command and no option that there is not', async () => {
  const texts = observations().map(([, observation]) => messageOf('dev', observation, undefined).text);
  const commands = texts.flatMap((text) =>
    [...text.matchAll(/^ {2}npm run token-broker -- (.+)$/gm)].map(([, args]) => args),
  );
  expect(new Set(commands).size).toBeGreaterThanOrEqual(5);
  for (const command of new Set(commands)) {
    const args = `${command}`.split(' ');
    const { exitCode, stdout } = await runCommandLine([...args, '--help']);
    expect(exitCode).toBe(0);
    for (const word of args.filter((arg) => arg.startsWith('--'))) expect(stdout).toContain(`  ${word} `);
    const verbs = args.slice(0, args[0] === 'client' ? 2 : 1).join(' ');
    expect(stdout).toMatch(new RegExp(`^Usage: token-broker ${verbs} `));
  }
});

/** One of every condition; the pairs' names are of any length and, where nobody has checked it, of any characters. */
function observations(): (readonly [string, Observation])[] {
  const look = { since: START, at: START };
  const pair = { client: 'c'.repeat(63), service: 's'.repeat(63) };
  const all: Observation[] = CONDITIONS.flatMap((condition): Observation[] => {
    switch (condition) {
      case 'incident':
      case 'answering':
        return [
          { kind: 'service', service: 's'.repeat(63), condition, ...look },
          { kind: 'broker', condition, ...look },
        ];
      case 'denied':
      case 'not-denied':
      case 'unproven':
        return [{ kind: 'probe', condition, ...look }];
      case 'service-unknown':
        return [{ kind: 'pair', pair: { client: 'acme', service: 'Dienst für\nalle' }, condition, ...look }];
      default:
        return [{ kind: 'pair', pair, condition, ...look }];
    }
  });
  return all.map((observation) => [`${observation.kind} ${observation.condition}`, observation] as const);
}
