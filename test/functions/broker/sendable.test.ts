import { describe, expect, it } from 'vitest';
import type { SecretVersion } from '../../../functions/broker/credential/secret.ts';
import type { CredentialReading } from '../../../functions/broker/credential/secret-cache.ts';
import { chooseSendable, needsPrevious } from '../../../functions/broker/pair/choose-version.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import type { SecretStage } from '../../../functions/contract.ts';
import { START } from '../../support/example.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const MISSING: CredentialReading = { outcome: 'missing' };

const version = (versionId: string, stage: SecretStage): SecretVersion => ({
  versionId,
  stage,
  text: new Redacted('text'),
});
const found = (versionId: string, stage: SecretStage = 'AWSCURRENT'): CredentialReading => ({
  outcome: 'found',
  secret: version(versionId, stage),
});
const current = found('v2');
const previous = found('v1', 'AWSPREVIOUS');

const rejections = (...versions: string[]): PairRecord['rejected'] =>
  new Map(versions.map((id) => [id, { count: 1, at: START, fence: 1 }]));

function choose(
  versions: { current: CredentialReading; previous?: CredentialReading },
  rejected: PairRecord['rejected'] = new Map(),
  now = START,
) {
  const chosen = chooseSendable('test', PAIR, versions, rejected, now);
  return chosen.kind === 'version' ? chosen.version.versionId : `${chosen.problem.type}, ends: ${chosen.endsTokens}`;
}

describe('the version to send', () => {
  it.each<[string, string, Parameters<typeof choose>]>([
    ['the current one', 'v2', [{ current, previous }]],
    ['the previous one while the current one is latched', 'v1', [{ current, previous }, rejections('v2')]],
    ['the current one when its chance is due', 'v2', [{ current, previous }, rejections('v2'), START + 15 * 60_000]],
    ['the current one although the previous one is latched', 'v2', [{ current, previous }, rejections('v1')]],
    ['none while both are', 'credential-rejected, ends: false', [{ current, previous }, rejections('v1', 'v2')]],
    [
      'none when there is no other',
      'credential-rejected, ends: false',
      [{ current, previous: MISSING }, rejections('v2')],
    ],
    ['none when no other could be read', 'credential-rejected, ends: false', [{ current }, rejections('v2')]],
    [
      'the last known one while Secrets Manager is down',
      'v2',
      [{ current: { outcome: 'stale', secret: version('v2', 'AWSCURRENT') } }],
    ],
  ])('is %s', (_, expected, args) => {
    expect(choose(...args)).toBe(expected);
  });

  it.each<[CredentialReading, string]>([
    [MISSING, 'credential-missing, ends: true'],
    [{ outcome: 'deleted' }, 'credential-missing, ends: true'],
    [{ outcome: 'denied', cause: 'AccessDenied' }, 'secrets-unavailable, ends: true'],
    [{ outcome: 'binary' }, 'credential-malformed, ends: false'],
    [{ outcome: 'unavailable', cause: 'TimeoutError' }, 'secrets-unavailable, ends: false'],
  ])('does not exist when Secrets Manager says %o, whatever is known of the previous one', (reading, expected) => {
    expect(choose({ current: reading, previous })).toBe(expected);
  });

  it('that was rejected is named in the problem', () => {
    const chosen = chooseSendable('test', PAIR, { current }, rejections('v2'), START);
    expect(chosen).toMatchObject({ problem: { detail: expect.stringContaining('secret version v2') } });
  });
});

describe('the previous version', () => {
  it.each<[string, boolean, CredentialReading, PairRecord['rejected']]>([
    ['while the current one is latched', true, current, rejections('v2')],
    ['while the current one can be sent', false, current, rejections('v1')],
    ['without a current one', false, MISSING, rejections('v2')],
  ])('is read %s: %s', (_, isNeeded, reading, rejected) => {
    expect(needsPrevious(reading, rejected, START)).toBe(isNeeded);
  });
});
