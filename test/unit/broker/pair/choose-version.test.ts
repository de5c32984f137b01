import { describe, expect, it } from 'vitest';
import type { SecretReading, StagedVersions } from '../../../../functions/broker/credential/secret.ts';
import { chooseVersion, goneProblem } from '../../../../functions/broker/pair/choose-version.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import { found, SECRETS_DOWN } from '../../../support/broker-world.ts';
import { exampleService, START } from '../../../support/example.ts';
import { exampleCall, exampleWait, latches } from '../../../support/pair/pair-examples.ts';

const call = exampleCall();
const { pair, settingsDigest } = call;
const SECRET = { client_id: 'id', secret: 'secret' };
const SETTINGS = 'or its settings are wrong: tokenPath, basicEncoding';
const MISSING: SecretReading = { outcome: 'missing' };
const current = found('v2');
const previous = found('v1', SECRET, 'AWSPREVIOUS');
const both = [current, previous] as const;

const staged = (candidates: StagedVersions['candidates'], servicesFrom = candidates[0]): StagedVersions => ({
  name: 'token-broker/test/acme',
  stage: 'AWSCURRENT',
  servicesFrom,
  candidates,
});
const latched = (...versions: string[]): Partial<PairRecord> => ({
  rejected: latches(Object.fromEntries(versions.map((version) => [version, START]))),
});
const held = (version: string, untilMs = 4_001, digest = settingsDigest): Partial<PairRecord> => ({
  held: new Map([[`${version}:${digest}`, exampleWait(START + untilMs, 'token-endpoint-error')]]),
});

function choose(
  versions: StagedVersions,
  record: Partial<PairRecord> = {},
  { now = START, service = call.service } = {},
) {
  try {
    return chooseVersion({ ...call, service }, versions, { ...EMPTY_RECORD, ...record }, now);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The version, or the problem and when to come back. */
const chosen = (...args: Parameters<typeof choose>) => {
  const choice = choose(...args);
  if (!(choice instanceof Problem)) return choice.version.versionId;
  return [choice.type, choice.retryAfterSeconds].filter((part) => part !== undefined).join(' ');
};

describe('the version to send', () => {
  it.each<[string, string, Parameters<typeof choose>]>([
    ['the current one', 'v2', [staged(both)]],
    ['the previous one while the current one is latched', 'v1', [staged(both), latched('v2')]],
    ['the current one when its chance is due', 'v2', [staged(both), latched('v2'), { now: START + 15 * 60_000 }]],
    ['none while both are latched', 'credential-rejected', [staged(both), latched('v1', 'v2')]],
    ['none while the other is unknown', 'secrets-unavailable 1', [staged([current, SECRETS_DOWN]), latched('v2')]],
    ['none while it is held, and never its predecessor', 'token-endpoint-error 5', [staged(both), held('v2')]],
    ['the current one when its hold is over', 'v2', [staged([current]), held('v2', 0)]],
    ['none one millisecond before', 'token-endpoint-error 1', [staged([current]), held('v2', 1)]],
    ['the current one while another is held', 'v2', [staged([current]), held('v1')]],
    ['the current one while it is held with other settings', 'v2', [staged([current]), held('v2', 9, 'ffff')]],
    ['none when it is malformed', 'credential-malformed', [staged([found('v2', { client_id: 'id' })])]],
  ])('is %s: %s', (_, expected, args) => {
    expect(chosen(...args)).toBe(expected);
  });

  it('comes with what is sent of it in the dialect of the service, and with the key of its hold', () => {
    const secret = { client_id: 'i:d', secret: 'a b', services: { [pair.service]: {} } };
    const service = exampleService({ basicEncoding: 'form' });
    const choice = choose(staged([found('v2', secret)]), {}, { service });

    if (choice instanceof Problem) throw choice;
    expect(choice).toMatchObject({ version: { versionId: 'v2' }, holdKey: `v2:${settingsDigest}` });
    expect(choice.credential.authorization.reveal()).toBe(`Basic ${btoa('i%3Ad:a+b')}`);
  });

  it('that a check asks for is named with its stage when it cannot be read', () => {
    const detail = expect.stringContaining('AWSPENDING');
    const versions = { ...staged([MISSING], current), stage: 'AWSPENDING' } as const;
    expect(choose(versions)).toMatchObject({ type: 'credential-missing', detail });
  });
});

it('a rejection names the settings, too, for a version that the service never accepted', () => {
  const detailOf = (secret: typeof SECRET, record: Partial<PairRecord> = {}) => {
    const problem = choose(staged([found('v2', secret)]), { ...latched('v2'), ...record });
    return problem instanceof Problem ? problem.detail : expect.fail('a version was chosen');
  };
  expect(detailOf(SECRET)).toContain(`${SETTINGS}, parameters; after changed settings client retry.`);
  expect(detailOf({ ...SECRET, secret: 'se+ret' })).toContain(`${SETTINGS} (this credential differs under the two), `);
  expect(detailOf(SECRET, { checked: { version: 'v2', at: START, finding: 'accepted' } })).not.toContain('settings');
});

it('a problem names the version or the stage that an operator has to look at', () => {
  const rejected =
    'The service customer-insights rejected the credential of acme (secret version v2). An operator must';
  expect(choose(staged(both), latched('v1', 'v2'))).toMatchObject({ detail: expect.stringContaining(rejected) });
  const previousDown = choose(staged([current, SECRETS_DOWN]), latched('v2'));
  expect(previousDown).toMatchObject({ detail: expect.stringContaining('AWSPREVIOUS') });
  expect(goneProblem(staged([MISSING]), pair)).toMatchObject({ detail: expect.stringContaining('AWSCURRENT') });
});

describe('the services that AWSCURRENT names', () => {
  const naming = (services: unknown) => found('v2', { ...SECRET, services });

  it.each<[string, string, StagedVersions]>([
    ['decide: one that is named receives the credential', 'v2', staged([naming([pair.service])])],
    ['decide: one that is not named receives nothing', 'credential-missing', staged([naming(['other'])])],
    ['decide: none is no service', 'credential-missing', staged([naming({})])],
    ['decide also for AWSPREVIOUS, which names none', 'credential-missing', staged([previous], naming(['other']))],
    ['decide for AWSPREVIOUS, which may be sent', 'v1', staged([previous], naming([pair.service]))],
    ['do not matter while they cannot be read', 'v1', staged([previous], SECRETS_DOWN)],
    ['count as none after a stop', 'secrets-unavailable 1', staged([previous], { ...SECRETS_DOWN, afterStop: true })],
    ['do not matter when they are binary', 'v1', staged([previous], { outcome: 'binary' })],
    ['do not matter when they are malformed', 'credential-malformed', staged([naming('some')])],
  ])('%s: %s', (_, expected, versions) => {
    expect(chosen(versions)).toBe(expected);
  });

  it('are reported to the operator who has to add one', () => {
    const detail =
      'The secret "token-broker/test/acme" does not name the service customer-insights. An operator must add it to "services" if acme has a credential for it.';
    expect(goneProblem(staged([naming([])]), pair)).toMatchObject({ type: 'credential-missing', detail });
  });
});
