import { describe, expect, it } from 'vitest';
import {
  createSecretCache,
  type SecretReading,
  secretProblem,
} from '../../../../functions/broker/credential/secret.ts';
import { type SecretStage, secretName } from '../../../../functions/vocabulary.ts';
import { found, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../../../support/example.ts';

const STALE = { ...found('v1'), isStale: true };
const STOPPED = { outcome: 'stopped', cause: 'AnotherCause' } as const;

function setUp() {
  const state = { now: START, reading: found('v1') as SecretReading | Promise<SecretReading> };
  const asked: unknown[][] = [];
  const secrets = createSecretCache({
    now: () => state.now,
    readSecret: async (...args) => {
      asked.push(args);
      return state.reading;
    },
  });
  const read = (readSince = -Infinity, deadline = Infinity, client = 'acme', stage: SecretStage = 'AWSCURRENT') =>
    secrets.read(client, stage, { readSince, deadline });
  /** Begins a reading, which ends with an answer of Secrets Manager. */
  const begin = (...bounds: Parameters<typeof read>) => {
    const gate = Promise.withResolvers<SecretReading>();
    state.reading = gate.promise;
    const reading = read(...bounds);
    return (answer: SecretReading) => {
      gate.resolve(answer);
      return reading;
    };
  };
  return { state, asked, secrets, read, begin };
}

describe('a secret', () => {
  it.each<[SecretReading, number]>([
    [found('v1'), 5 * MINUTE_MS],
    [{ outcome: 'missing' }, 5 * SECOND_MS],
    [{ outcome: 'denied', cause: 'no' }, 5 * SECOND_MS],
  ])('of which was read %j is trusted to be so for %d ms', async (reading, trustMs) => {
    const { state, asked, read } = setUp();
    state.reading = reading;
    expect(await read()).toEqual(reading);
    state.reading = found('v2');
    state.now += trustMs - 1;
    expect(await read()).toEqual(reading);
    expect(asked).toHaveLength(1);

    state.now += 1;
    expect(await read()).toEqual(found('v2'));
  });

  it('is read anew for a call that needs a reading which began later, and not when it began just then', async () => {
    const { state, asked, read } = setUp();
    await read();
    state.reading = found('v2');
    expect(await read(START)).toEqual(found('v1'));
    state.now += 1;

    expect(await read(START + 1)).toEqual(found('v2'));
    expect(asked).toHaveLength(2);
  });

  it('is asked for by its client and stage until the deadline, and kept for each of them', async () => {
    const { asked, read } = setUp();
    await read(-Infinity, START + 5);
    await read(-Infinity, START + 6, 'globex');
    await read(-Infinity, START + 7, 'acme', 'AWSPENDING');
    await read(-Infinity, START + 8);

    expect(asked).toEqual([
      ['acme', 'AWSCURRENT', START + 5],
      ['globex', 'AWSCURRENT', START + 6],
      ['acme', 'AWSPENDING', START + 7],
    ]);
  });

  it('is the one of the reading that began last, whichever ended last', async () => {
    const { state, read, begin } = setUp();
    const end = begin();
    state.now += 1;
    state.reading = found('v2');
    await read(state.now);

    expect([await end(found('v1')), await read()]).toEqual([found('v1'), found('v2')]);
  });
});

describe('while Secrets Manager is down', () => {
  it('an answer counts that a later, silent reading has overtaken: a stop is marked in the silence after it', async () => {
    const { state, read, begin } = setUp();
    const end = begin();
    state.now += 1;
    state.reading = SECRETS_DOWN;
    expect(await read()).toEqual(SECRETS_DOWN);
    expect(await end(STOPPED)).toEqual(STOPPED);
    state.now += 5 * SECOND_MS;

    expect(await read()).toEqual({ ...SECRETS_DOWN, afterStop: true });
  });

  async function outage(afterMs = 5 * MINUTE_MS) {
    const world = setUp();
    await world.read();
    world.state.reading = SECRETS_DOWN;
    world.state.now += afterMs;
    return world;
  }

  it('the last version serves for 24 hours, marked as stale, then no longer', async () => {
    const { state, read } = await outage(24 * HOUR_MS - 1);
    expect(await read()).toEqual(STALE);
    state.now += 10 * SECOND_MS;

    expect(await read()).toEqual(SECRETS_DOWN);
  });

  it('it is asked once in ten seconds, also by calls that need a reading which began later', async () => {
    const { state, asked, read } = await outage();
    await read();
    state.now += 10 * SECOND_MS - 1;
    expect([await read(), await read(state.now)]).toEqual([STALE, STALE]);
    expect(asked).toHaveLength(2);

    state.now += 1;
    state.reading = found('v2');
    expect(await read()).toEqual(found('v2'));
  });

  it('the silence about an unknown secret counts for ten seconds for a call that accepts it, and for no other', async () => {
    const { state, asked, secrets } = setUp();
    state.reading = SECRETS_DOWN;
    for (const [laterMs, acceptsSilence, reads] of [
      [0, true, 1],
      [10 * SECOND_MS - 1, true, 1],
      [0, false, 2],
      [10 * SECOND_MS, true, 3],
    ] as const) {
      state.now += laterMs;
      const bounds = { readSince: -Infinity, deadline: Infinity, acceptsSilence };
      expect([await secrets.read('acme', 'AWSCURRENT', bounds), asked.length]).toEqual([SECRETS_DOWN, reads]);
    }
  });

  it.each<[SecretReading, SecretStage, object]>([
    [STOPPED, 'AWSCURRENT', { afterStop: true }],
    [{ outcome: 'denied', cause: 'no' }, 'AWSCURRENT', { afterStop: true }],
    [{ outcome: 'missing' }, 'AWSCURRENT', { afterStop: true }],
    [{ outcome: 'binary' }, 'AWSCURRENT', {}],
    [{ outcome: 'missing' }, 'AWSPENDING', {}],
    [{ outcome: 'missing' }, 'AWSPREVIOUS', {}],
  ])('marks each silence after %j of %s, until the next answer: %j', async (reading, stage, mark) => {
    const { state, read } = setUp();
    const readStage = () => read(-Infinity, Infinity, 'acme', stage);
    for (const told of [reading, SECRETS_DOWN, SECRETS_DOWN]) {
      state.reading = told;
      expect(await readStage()).toEqual(told === SECRETS_DOWN ? { ...SECRETS_DOWN, ...mark } : told);
      state.now += 5 * SECOND_MS;
    }
    for (const told of [found('v2'), SECRETS_DOWN]) {
      state.reading = told;
      expect(await readStage()).toEqual(told === SECRETS_DOWN ? { ...found('v2'), isStale: true } : told);
      state.now += 5 * MINUTE_MS;
    }
  });
});

it('a stop that one reading heard is not forgotten by a slower one that failed', async () => {
  const { state, read, begin } = setUp();
  await read();
  state.now += SECOND_MS;
  const [stop, fail] = [begin(state.now), begin(state.now)];
  await stop(STOPPED);
  state.now += SECOND_MS;
  await fail(SECRETS_DOWN);
  state.reading = SECRETS_DOWN;
  expect(await read(state.now)).toEqual({ ...SECRETS_DOWN, afterStop: true });
});

it.each([
  ['gives the last known version when its time is over, which is no outage', 100, SECRETS_DOWN, STALE, found('v1')],
  ['gives that also when its timer was a little early', 95, SECRETS_DOWN, STALE, found('v1')],
  ['counts as an outage when it failed before', 94, SECRETS_DOWN, STALE, STALE],
  ['counts when its answer comes at the last moment', 100, found('v2'), found('v2'), found('v2')],
])('a reading that its deadline ends %s', async (_, endMs, reading, expected, later) => {
  const { state, read, begin } = setUp();
  await read();
  state.now += SECOND_MS;
  // The cached answer is a second old, so a call with 100 ms asks again.
  const end = begin(state.now, state.now + 100);
  state.now += endMs;
  expect([await end(reading), await read()]).toEqual([expected, later]);
});

it.each<[Exclude<SecretReading, { outcome: 'found' }>, string, string, number?]>([
  [{ outcome: 'missing' }, 'credential-missing', 'does not exist'],
  [{ outcome: 'deleted' }, 'credential-missing', 'is marked for deletion'],
  [{ outcome: 'binary' }, 'credential-malformed', 'is binary'],
  [{ outcome: 'denied', cause: 'AccessDeniedException' }, 'secrets-unavailable', 'is refused to the broker by AWS'],
  [STOPPED, 'client-disabled', 'is denied to the broker by a statement of its own policy, as client disable'],
  [{ outcome: 'unavailable', cause: 'ECONNRESET' }, 'secrets-unavailable', 'could not be read', 1],
])(
  'a secret that is %j is a problem that names it, and only the log has the cause, unless AWS denies it',
  (reading, type, state, retryAfterSeconds) => {
    const cause = 'cause' in reading ? reading.cause : undefined;
    const problem = secretProblem(reading, secretName('dev', 'acme'), 'AWSPENDING');
    expect(problem).toMatchObject({ type, retryAfterSeconds, cause });
    expect(problem.detail).toContain(`The secret "token-broker/dev/acme" (AWSPENDING) ${state}`);
    expect(problem.detail.includes(`${cause}`)).toBe(reading.outcome === 'denied');
  },
);
