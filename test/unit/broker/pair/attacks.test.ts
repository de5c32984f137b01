import { describe, expect, it } from 'vitest';
import { decideIssue, type View } from '../../../../functions/broker/pair/decision.ts';
import { EMPTY_RECORD } from '../../../../functions/broker/pair/record.ts';
import { found, ISSUE_REQUEST, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';
import { exampleCall, exampleToken, latches } from '../../../support/pair/pair-examples.ts';
import {
  answer,
  BUSY,
  createPairWorld,
  DOWN,
  FAILED,
  FINGERPRINT,
  PAIR,
  type PairWorldOptions,
  REJECTED,
  REQUEST,
  requestWhenFree,
  rotated,
  SILENT,
  THROTTLED,
} from './pair-world.ts';

/** Sequences of slow, lost and throttled answers that once broke a rule. */

/** One call for a token in the world, as a caller makes it. */
function issueIn(options: PairWorldOptions) {
  const world = createPairWorld(options);
  const issue = (call = exampleCall({ deadline: world.clock.now + 10 * SECOND_MS })) =>
    world.acquire((view: View) => {
      const step = decideIssue(view, call, ISSUE_REQUEST, world.clock.now);
      return 'answer' in step ? { ...step, answer: step.answer.token.fingerprint } : step;
    }, call);
  return { ...world, issue };
}

describe('a call goes alone after a silent look and a patient one, both without an answer between them', () => {
  it('so an answer that the table is busy gives the next silence a patient look again', async () => {
    let writes = 0;
    const onReplace: PairWorldOptions['onReplace'] = (write) => {
      writes += 1;
      return write();
    };
    const { acquire, sent } = createPairWorld({ reads: [DOWN, BUSY, BUSY, DOWN, {}], onReplace });
    await acquire([REQUEST]);
    // The lease and the outcome: an instance that is alone writes neither.
    expect([sent.length, writes]).toEqual([1, 2]);
  });

  it('so an answer to the rejection that it told does, too', async () => {
    let writes = 0;
    const { acquire, sent } = createPairWorld({
      reads: [DOWN, DOWN, {}, DOWN, {}],
      renewals: [REJECTED, undefined],
      secret: rotated,
      onReplace: (write) => {
        writes += 1;
        return write();
      },
    });
    await acquire([REQUEST]);
    // The rejection, the lease of the previous version, and its outcome.
    expect([sent.length, writes]).toEqual([2, 3]);
  });

  it('so a lost race does, too', async () => {
    const lease = { id: 'winner', until: START + 6 * SECOND_MS };
    const { acquire, sent } = createPairWorld({
      reads: [DOWN, {}, DOWN, { lease }],
      onReplace: async () => undefined,
    });
    await acquire(requestWhenFree, exampleCall({ deadline: START + 3 * SECOND_MS }));
    expect(sent).toEqual([]);
  });
});

it.each([
  ['silent', SILENT],
  ['busy', THROTTLED],
])('a withdrawn token does not come back by an outcome whose write was lost: %s', async (_, lost) => {
  const token = exampleToken({ refreshAt: START, credentialVersion: 'v1' });
  let version = 'v1';
  const { issue, shared, clock } = issueIn({
    record: { token },
    renewals: [FAILED],
    onReplace: (write, { n }) => (version === 'v1' && n >= 2 ? lost() : write()),
    secret: (stage) => found(version, undefined, stage),
  });
  expect(await issue()).toBe(FINGERPRINT);

  // A check elsewhere withdraws the token, and an operator stores another version.
  version = 'v2';
  clock.now += 2 * MINUTE_MS;
  shared.change(PAIR, (record) => ({ ...record, lease: undefined, token: undefined }));
  expect(await issue()).not.toBe(FINGERPRINT);
});

describe('while the table is busy', () => {
  it('a previous version that cannot be read is no reason to fail', async () => {
    const { issue, memory, clock } = issueIn({
      reads: [BUSY],
      secret: (stage) => (stage === 'AWSCURRENT' ? found('v2', undefined, stage) : SECRETS_DOWN),
    });
    const record = { ...EMPTY_RECORD, rejected: latches({ v2: START }) };
    await memory.remember(PAIR, async () => ({ record, tag: 'a' }));
    expect(await issue()).toMatchObject({ type: 'token-endpoint-timeout' });
    expect(clock.now).toBeGreaterThanOrEqual(START + 10 * SECOND_MS);
  });

  it('a trial whose version was rejected has its finding', async () => {
    const { acquire } = createPairWorld({ reads: [{}, BUSY], renewals: [REJECTED] });
    const decide = ({ record }: View) => (record.rejected.has('v1') ? answer('rejected') : REQUEST);
    expect(await acquire(decide, exampleCall({ stage: 'AWSPENDING' }))).toBe('rejected');
  });

  it('a check decides on a secret that is no older than itself', async () => {
    let version = 'v1';
    const { acquire, clock } = createPairWorld({
      reads: [{}, BUSY],
      record: { rejected: latches({ v1: START }) },
      secret: (stage) => found(version, undefined, stage),
    });
    const decide = ({ versions }: View) => {
      const reading = versions?.candidates[0];
      return answer(reading?.outcome === 'found' ? reading.secret.versionId : 'none');
    };
    const check = () => acquire(decide, exampleCall({ stage: 'AWSCURRENT', deadline: clock.now + 10 * SECOND_MS }));
    await check();
    clock.now += 30 * SECOND_MS;
    version = 'v2';
    expect(await check()).toBe('v2');
  });
});
