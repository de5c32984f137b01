import { describe, expect, it } from 'vitest';
import type { CheckAnswer } from '../../../functions/broker/health/check-pairs.ts';
import type { Message } from '../../../functions/broker/health/messages.ts';
import { createReporter, type Memory, ReportFailure } from '../../../functions/broker/health/notify.ts';
import { createRotation, type RotationRecord, RotationUnfinished } from '../../../functions/broker/health/rotation.ts';
import type { Entries } from '../../../functions/broker/health/transitions.ts';
import type { Finding } from '../../../functions/contract.ts';
import { START } from '../../support/example.ts';

const PROMOTION = { client: 'acme', version: 'v2' };
const ENDS_AT = START + 45_000;

describe('a rotation', () => {
  it('is one message, which is about what does not work', async () => {
    const { rotate, messages } = rotation({ one: 'accepted', two: 'rejected', three: 'secret-malformed' });
    await rotate(PROMOTION, ENDS_AT);
    expect(messages.map(({ subject }) => subject)).toEqual(['[token-broker test] rejected: acme on two']);
    expect(messages[0]?.text).toContain('  one: accepted (v2)\n  two: rejected (v2)\n  three: secret-malformed (v2)\n');
  });

  it('tells of all services only where there are several, and of versions where there are any', async () => {
    const one = rotation({ one: 'rejected' });
    await one.rotate(PROMOTION, ENDS_AT);
    expect(one.messages[0]?.text).not.toContain('On all services');
    expect(one.messages[0]?.text).toMatch(/client retry acme --environment test\n$/);

    const two = rotation({ one: 'secret-missing', two: 'rejected' });
    two.answers.set('one', checked('secret-missing', undefined));
    await two.rotate(PROMOTION, ENDS_AT);
    expect(two.messages[0]?.text).toContain('  one: secret-missing (no version)\n  two: rejected (v2)\n');
  });

  it('is no message when everything works', async () => {
    const { rotate, messages } = rotation({ one: 'accepted', two: 'accepted' });
    await rotate(PROMOTION, ENDS_AT);
    expect(messages).toEqual([]);
  });

  it('tells that a credential works again, and then no more', async () => {
    const { rotate, messages, answers } = rotation({ one: 'rejected' });
    await rotate(PROMOTION, ENDS_AT);
    answers.set('one', checked('accepted', 'v3'));
    await rotate({ ...PROMOTION, version: 'v3' }, ENDS_AT);
    await rotate({ ...PROMOTION, version: 'v3' }, ENDS_AT);
    expect(messages.map(({ subject }) => subject)).toEqual([
      '[token-broker test] rejected: acme on one',
      '[token-broker test] accepted: acme on one',
    ]);
  });

  it('is about what does not work also when another service accepts the client again', async () => {
    const { rotate, messages, answers } = rotation({ one: 'rejected', two: 'accepted' });
    await rotate(PROMOTION, ENDS_AT);
    answers.set('one', checked('accepted', 'v3')).set('two', checked('rejected', 'v3'));
    await rotate({ ...PROMOTION, version: 'v3' }, ENDS_AT);
    expect(messages[1]?.subject).toBe('[token-broker test] rejected: acme on two');
    expect(messages[1]?.text).toContain('  one: accepted (v3)\n  two: rejected (v3)\n');
  });

  it('remembers a message for all services, so that health has nothing more to tell', async () => {
    const { rotate, memory } = rotation({ one: 'rejected', two: 'rejected' });
    await rotate(PROMOTION, ENDS_AT);
    for (const service of ['one', 'two']) {
      expect(memory(service).get(`acme/${service}`)).toMatchObject({ condition: 'rejected', version: 'v2' });
    }
  });

  it.each<Finding>(['unreachable', 'throttled'])(
    'is unfinished, and no message, where a service is %s',
    async (finding) => {
      const { rotate, messages, records } = rotation({ one: finding, two: 'accepted' });
      await expect(rotate(PROMOTION, ENDS_AT)).rejects.toThrow(new RotationUnfinished(`acme: one ${finding}`));
      expect(messages).toEqual([]);
      expect(records.map(({ pair }) => pair.service)).toEqual(['one', 'two']);
    },
  );

  it('tells what it knows even when the broker cannot say everything', async () => {
    const { rotate, messages, answers } = rotation({ one: 'rejected', two: 'accepted' });
    answers.set('two', { kind: 'failed', failure: 'secrets-unavailable', retryable: true });
    await expect(rotate(PROMOTION, ENDS_AT)).rejects.toThrow('acme: two secrets-unavailable');
    expect(messages).toHaveLength(1);
  });

  it('is unfinished when nobody could be told, and the next try tells', async () => {
    const { rotate, messages, failNotify } = rotation({ one: 'rejected', two: 'rejected' });
    failNotify(true);
    await expect(rotate(PROMOTION, ENDS_AT)).rejects.toThrow('acme: notifier-down, notifier-down');
    failNotify(false);
    await rotate(PROMOTION, ENDS_AT);
    expect(messages).toHaveLength(1);
  });

  it('gives a check no more time than there is', async () => {
    const { rotate, timeouts } = rotation({ one: 'accepted' });
    await rotate(PROMOTION, START + 7_000);
    await rotate(PROMOTION, START + 70_000);
    expect(timeouts).toEqual([7_000, 20_000]);
  });

  it('checks nothing when the client has no secret any more', async () => {
    const { rotate, records } = rotation({ one: 'accepted' }, { isGone: true });
    expect(await rotate(PROMOTION, ENDS_AT)).toEqual([]);
    expect(records).toEqual([]);
  });

  it('checks the services that the client’s tag names and that are configured', async () => {
    const { rotate, records } = rotation({ one: 'accepted', two: 'accepted' }, { tag: 'two three two' });
    await rotate(PROMOTION, ENDS_AT);
    expect(records.map(({ pair }) => pair.service)).toEqual(['two']);
  });
});

/** All services there are, with what a check of each finds; and everything that comes of it. */
function rotation(
  findings: Readonly<Record<string, Finding>>,
  { tag, isGone = false }: { readonly tag?: string; readonly isGone?: boolean } = {},
) {
  const answers = new Map(
    Object.entries(findings).map(([service, finding]): [string, CheckAnswer] => [service, checked(finding, 'v2')]),
  );
  const memories = new Map<string | undefined, Memory>();
  const messages: Message[] = [];
  const records: RotationRecord[] = [];
  const timeouts: number[] = [];
  let notifyFails = false;

  const rotate = createRotation({
    services: Object.keys(findings),
    findClient: async (client) => (isGone ? undefined : { client, services: tag }),
    checkPair: async ({ service }, timeoutMs) => {
      timeouts.push(timeoutMs);
      return answers.get(service) ?? { kind: 'failed', failure: 'access-denied', retryable: false };
    },
    notify: async (message) => {
      if (notifyFails) throw new ReportFailure('notifier-down');
      messages.push(message);
    },
    createReport: (notify) =>
      createReporter({
        environment: 'test',
        memories: {
          read: async (service) => memories.get(service) ?? { entries: new Map(), revision: 0, heldUntil: 0 },
          write: async (service, memory) => {
            memories.set(service, memory);
            return true;
          },
        },
        notify,
        now: () => START,
        sleep: async () => undefined,
      }),
    record: (record) => records.push(record),
    now: () => START,
  });
  const memory = (service: string): Entries => memories.get(service)?.entries ?? new Map();
  const failNotify = (fails: boolean) => {
    notifyFails = fails;
  };
  return { rotate, answers, messages, records, timeouts, memory, failNotify };
}

function checked(finding: Finding, version: string | undefined): CheckAnswer {
  return { kind: 'checked', finding, version, provenBy: 'request', checkedAt: START };
}
