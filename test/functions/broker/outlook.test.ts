import { describe, expect, it } from 'vitest';
import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import { createCredentials } from '../../../functions/broker/credential/secret-cache.ts';
import type { IssueCall } from '../../../functions/broker/pair/call.ts';
import { createOutlook } from '../../../functions/broker/pair/outlook.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { ISSUE_REQUEST } from '../../support/broker-world.ts';
import { START } from '../../support/example.ts';
import { exampleCall } from '../../support/pair-examples.ts';

const DOWN: SecretReading = { outcome: 'unavailable', cause: 'TimeoutError' };
const MISSING: SecretReading = { outcome: 'missing' };
const ANY_TIME = { readSince: -Infinity, deadline: Infinity };
const MINUTE_MS = 60_000;

function latched(...versions: string[]): PairRecord {
  const latch = { count: 3, at: START - MINUTE_MS, fence: 1 };
  return { ...EMPTY_RECORD, rejected: new Map(versions.map((version) => [version, latch])) };
}

/** The secret's versions by stage, or what Secrets Manager says instead of one. */
function setUp(secret: Partial<Record<SecretStage, string | SecretReading>>) {
  const clock = { now: START };
  const now = () => clock.now;
  const readStages: SecretStage[] = [];
  const credentials = createCredentials({
    now,
    readSecret: async (_, stage) => {
      readStages.push(stage);
      const told = secret[stage] ?? MISSING;
      if (typeof told !== 'string') return told;
      return { outcome: 'found', secret: { versionId: told, stage, text: new Redacted('{}') } };
    },
  });
  const outlook = createOutlook({ environment: 'test', credentials, now });
  const call = (): IssueCall => ({
    ...exampleCall({ startedAt: clock.now, deadline: clock.now + 10_000 }),
    request: ISSUE_REQUEST,
  });
  const warm = (...stages: SecretStage[]) =>
    Promise.all(stages.map((stage) => credentials.read(ISSUE_REQUEST.pair.client, stage, ANY_TIME)));
  return { clock, secret, outlook, call, warm, readStages };
}

describe('what memory alone decides', () => {
  it('is nothing while it does not know the current version', async () => {
    const { outlook, call, warm } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });
    await warm('AWSPREVIOUS');

    expect(outlook.recall(call(), EMPTY_RECORD)).toBeUndefined();
  });

  it('is to send the current version, whatever is known of the previous one', async () => {
    const { outlook, call, warm } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });
    await warm('AWSCURRENT');

    expect(outlook.recall(call(), latched('v1'))).toMatchObject({
      step: { kind: 'request' },
      version: { versionId: 'v2' },
    });
  });

  it('is nothing while the current version is latched and the previous one is not known', async () => {
    const { outlook, call, warm } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });
    await warm('AWSCURRENT');

    expect(outlook.recall(call(), latched('v2'))).toBeUndefined();
  });

  it('is to send the previous version while the current one is latched', async () => {
    const { outlook, call, warm } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });
    await warm('AWSCURRENT', 'AWSPREVIOUS');

    expect(outlook.recall(call(), latched('v2'))).toMatchObject({
      step: { kind: 'request' },
      version: { versionId: 'v1', stage: 'AWSPREVIOUS' },
    });
  });
});

describe('under the lease', () => {
  it('the secret is read again, the previous version too when that may be sent', async () => {
    const { clock, secret, outlook, call, warm, readStages } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });
    await warm('AWSCURRENT', 'AWSPREVIOUS');
    clock.now += 1_000;
    Object.assign(secret, { AWSPREVIOUS: 'v0' });

    expect(await outlook.reconsider(call(), latched('v2'))).toMatchObject({ version: { versionId: 'v0' } });
    expect(readStages).toEqual(['AWSCURRENT', 'AWSPREVIOUS', 'AWSCURRENT', 'AWSPREVIOUS']);
  });

  it('the previous version is not read while the current one may be sent', async () => {
    const { outlook, call, readStages } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });

    expect(await outlook.reconsider(call(), EMPTY_RECORD)).toMatchObject({ version: { versionId: 'v2' } });
    expect(readStages).toEqual(['AWSCURRENT']);
  });
});

describe('what an operator counts', () => {
  const warningsOf = async (secret: Parameters<typeof setUp>[0], record = EMPTY_RECORD) => {
    const { outlook, call } = setUp(secret);
    const asked = call();
    await outlook.reconsider(asked, record);
    return [...asked.trace.warnings];
  };

  it('is nothing while the current version serves', async () => {
    expect(await warningsOf({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' })).toEqual([]);
  });

  it('is that the previous version stands in for one that is latched', async () => {
    expect(await warningsOf({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' }, latched('v2'))).toEqual(['previous-version']);
  });

  it('is nothing more when there is no version to send', async () => {
    expect(await warningsOf({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' }, latched('v1', 'v2'))).toEqual([]);
    expect(await warningsOf({ AWSCURRENT: DOWN })).toEqual([]);
  });

  it('is that the last known version serves while Secrets Manager is down', async () => {
    const { clock, secret, outlook, call, warm } = setUp({ AWSCURRENT: 'v1' });
    await warm('AWSCURRENT');
    clock.now += 1_000;
    Object.assign(secret, { AWSCURRENT: DOWN });
    const asked = call();

    expect(await outlook.reconsider(asked, EMPTY_RECORD)).toMatchObject({ version: { versionId: 'v1' } });
    expect([...asked.trace.warnings]).toEqual(['secret-stale']);
  });
});

describe('the versions that carry a stage', () => {
  it('are those of all three stages', async () => {
    const { outlook, call } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1', AWSPENDING: 'v3' });

    expect(await outlook.stagedVersions(call())).toEqual(new Set(['v1', 'v2', 'v3']));
  });

  it('are fewer when there is nothing with a stage', async () => {
    const { outlook, call } = setUp({ AWSCURRENT: 'v2' });

    expect(await outlook.stagedVersions(call())).toEqual(new Set(['v2']));
  });

  it.each<SecretReading>([DOWN, { outcome: 'denied', cause: 'AccessDeniedException' }, { outcome: 'binary' }])(
    'are not known when Secrets Manager says %o of one stage',
    async (reading) => {
      const { outlook, call } = setUp({ AWSCURRENT: 'v2', AWSPENDING: reading });

      expect(await outlook.stagedVersions(call())).toBeUndefined();
    },
  );

  it('are not known from a reading that Secrets Manager could not renew', async () => {
    const { clock, secret, outlook, call, warm } = setUp({ AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' });
    await warm('AWSPREVIOUS');
    clock.now += 1_000;
    Object.assign(secret, { AWSPREVIOUS: DOWN });

    expect(await outlook.stagedVersions(call())).toBeUndefined();
  });
});
