import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpsSender } from '../../../../functions/aws/https/sender.ts';
import { createSealingKeys, type SealingKey } from '../../../../functions/aws/sealing/sealing-key.ts';
import { createSecretsManager } from '../../../../functions/aws/secrets-manager.ts';
import { sealingKeyName } from '../../../../functions/vocabulary.ts';
import { ACCESS, START } from '../../../support/example.ts';
import { startSecretsManager } from '../../../support/processes/stand-ins.ts';

const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const V3 = '33333333-3333-4333-8333-333333333333';
/** As short as a key may be. */
const ONE = 'the first key of 32 characters..';
const TWO = 'the second sealing key, 32 or more';

describe('reading the sealing key', () => {
  it('reads a version once, stays with it when the key is rotated, and knows the new one by name', async () => {
    const { keys, secret, operations } = await start();
    expect(text(await keys.current())).toBe(ONE);
    secret.versions.add(V2, { SecretString: TWO });
    for (const read of [keys.current, () => keys.named(V1)]) expect(await read()).toMatchObject({ version: V1 });
    expect(operations).toHaveLength(1);
    for (let times = 0; times < 2; times += 1) expect(text(await keys.named(V2))).toBe(TWO);
    expect(operations).toHaveLength(2);
  });

  it('goes over to the new version within an hour, and opens with the one before until it is retired', async () => {
    const { keys, secret, clock } = await start();
    await keys.current();
    secret.versions.add(V2, { SecretString: TWO });
    clock.now += 3_600_000;
    expect(await keys.current()).toMatchObject({ version: V2 });
    expect(await keys.named(V1)).toMatchObject({ version: V1 });
    secret.versions.move('AWSPREVIOUS', V1, undefined);
    clock.now += 3_599_999;
    expect(await keys.named(V1)).toMatchObject({ version: V1 });
    clock.now += 1;
    expect(await keys.named(V1)).toBeUndefined();
    expect(await keys.current()).toMatchObject({ version: V2 });
  });

  it('reads the current version at once when a token names a new one, and seals on with the old one if that fails', async () => {
    const { keys, secret, failWith, operations, clock } = await start();
    await keys.current();
    secret.versions.add(V2, { SecretString: TWO });
    await keys.named(V2);
    const asked = operations.length;
    failWith('internal-error');
    expect(await keys.current()).toMatchObject({ version: V1 });
    expect(operations.length).toBeGreaterThan(asked);
    failWith(undefined);
    clock.now += 10_000;
    expect(await keys.current()).toMatchObject({ version: V2 });
  });

  it('never seals with a version that it has found retired', async () => {
    const { keys, secret, failWith, clock } = await start();
    await keys.current();
    secret.versions.add(V2, { SecretString: TWO });
    secret.versions.move('AWSPREVIOUS', V1, undefined);
    clock.now += 3_600_000;
    failWith('internal-error', 2);
    // While Secrets Manager was silent, the key served on.
    expect(await keys.current()).toMatchObject({ version: V1 });
    expect(await keys.named(V1)).toBeUndefined();
    failWith('internal-error');
    expect(await keys.current()).toBeUndefined();
    failWith(undefined);
    clock.now += 1_000;
    expect(await keys.current()).toMatchObject({ version: V2 });
  });

  it('is read again after a second at the earliest while no key is known, by all calls of the instance', async () => {
    const { keys, failWith, operations, clock } = await start();
    failWith('internal-error');
    expect(await keys.current()).toBeUndefined();
    const asked = operations.length;
    failWith(undefined);
    clock.now += 999;
    expect([await keys.current(), operations.length]).toEqual([undefined, asked]);
    clock.now += 1;
    expect(await keys.current()).toMatchObject({ version: V1 });
  });

  it('is read again at once after a read that the deadline of its call cut off', async () => {
    const { keys, failWith, clock } = await start();
    failWith('internal-error');
    expect(await keys.current(clock.now)).toBeUndefined();
    failWith(undefined);
    expect(await keys.current()).toMatchObject({ version: V1 });
  });

  it('goes on with the keys that it knows while Secrets Manager is down, and asks once a minute at most', async () => {
    const { keys, failWith, operations, clock } = await start();
    await keys.named(V1);
    failWith('internal-error');
    clock.now += 3_600_000;
    expect(await keys.named(V1)).toMatchObject({ version: V1 });
    const asked = operations.length;
    clock.now += 59_999;
    expect(await keys.named(V1)).toMatchObject({ version: V1 });
    expect(operations).toHaveLength(asked);
    clock.now += 1;
    expect(await keys.named(V1)).toMatchObject({ version: V1 });
    expect(operations.length).toBeGreaterThan(asked);
  });

  it('asks for an unknown version once in 60 seconds, and meanwhile for another', async () => {
    const { keys, secret, operations, clock } = await start();
    expect(await keys.named(V2)).toBeUndefined();
    secret.versions.add(V2, { SecretString: TWO });
    clock.now += 59_999;
    expect(await keys.named(V2)).toBeUndefined();
    expect(await keys.named(V3)).toBeUndefined();
    expect(operations).toHaveLength(2);
    clock.now += 1;
    expect(text(await keys.named(V2))).toBe(TWO);
  });

  it('does without the key after a refusal, and asks again when it is needed 10 s later', async () => {
    const { keys, failWith, clock } = await start();
    failWith('access-denied', 1);
    expect(await keys.current()).toBeUndefined();
    clock.now += 9_999;
    expect(await keys.current()).toBeUndefined();
    clock.now += 1;
    expect(await keys.current()).toMatchObject({ version: V1 });
  });

  it('drops a known key that it may not read any more, and asks again at once when the clock was set back', async () => {
    const { keys, failWith, clock } = await start();
    await keys.current();
    clock.now += 3_600_000;
    failWith('access-denied');
    expect(await keys.current()).toBeUndefined();
    failWith(undefined);
    clock.now -= 600_000;
    expect(await keys.current()).toMatchObject({ version: V1 });
  });

  it.each([
    ['is shorter than 32 characters', { SecretString: '0123456789012345678901234567890' }],
    ['is binary', { SecretBinary: Buffer.alloc(64).toString('base64') }],
  ])('does without a key that %s', async (_what, value) => {
    const { keys, store } = await start();
    store.create(sealingKeyName('dev')).versions.add(V2, value);
    expect(await keys.current()).toBeUndefined();
  });

  it('does without a named version when the answer is about another one', async () => {
    const { keys } = await start({ VersionId: V2 });
    expect(await keys.named(V1)).toBeUndefined();
    expect(await keys.named(V2)).toBeUndefined();
  });

  it('cannot be printed', async () => {
    const key = await (await start()).keys.current();
    const shown = `${inspect(key, { depth: null, showHidden: true })}${JSON.stringify(key)}${key?.material}`;
    expect(shown).toContain(V1);
    expect(shown).not.toMatch(/first key|dGhlIGZpcnN0/);
  });
});

function text(key: SealingKey | undefined): string | undefined {
  return key?.material.export().toString();
}

/** The keys of an environment, in front of a stand-in that holds version `V1` of the key of `dev`; `members` alter its answers. */
async function start(members = {}) {
  const standIn = await startSecretsManager();
  const secret = standIn.store.create(sealingKeyName('dev'));
  secret.versions.add(V1, { SecretString: ONE });
  onTestFinished(standIn.close);
  const { getSecretValue } = createSecretsManager({ ...ACCESS, send: createHttpsSender(), endpoint: standIn.url });
  const secretsManager = {
    getSecretValue: async (...asked: Parameters<typeof getSecretValue>) => ({
      ...(await getSecretValue(...asked)),
      ...members,
    }),
  };
  const clock = { now: START };
  const keys = createSealingKeys({ secretsManager, environment: 'dev', now: () => clock.now, timeoutMs: 5_000 });
  return { ...standIn, secret, keys, clock };
}
