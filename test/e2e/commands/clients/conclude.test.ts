import { TagResourceCommand, UpdateSecretVersionStageCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { openSecrets } from '../../../../cli/shared/secrets.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import { checked, problem } from '../../../unit/client/broker-answers.ts';
import { type Answer, answerWith } from '../../../unit/client/loopback-server.ts';
import { answering, ended, openShell, typeAtCommandLine } from '../shared/command-line.ts';
import { ACME, it, NEW, OLD, SERVICES, WRONG } from '../shared/operator-world.ts';

const PROMOTE = `client promote acme --force --region us-east-1`;

/** A broker that gives this answer about the first service, and accepts the version on the second. */
async function brokerWith(answer: Answer, version: string) {
  return answering((response, request) => {
    const asked = JSON.parse(request.body);
    const isFirst = asked.service === SERVICES[0];
    return (isFirst ? answer : answerWith(200, checked({ ...asked, version })))(response, request);
  });
}

const about = (members: object): Answer => {
  const asked = { client: 'acme', service: SERVICES[0], stage: 'AWSPENDING' };
  return answerWith(200, checked({ ...asked, ...members }));
};

/** `passes` needs no second question, `asks` does, and `ends` promotes nothing, whatever the options. */
type Row = readonly [what: string, outcome: 'passes' | 'asks' | RegExp, answer: (version: string) => Answer];

const FINDINGS: readonly Row[] = [
  ['unreachable', 'passes', (version) => about({ finding: 'unreachable', version })],
  ['throttled by the service', 'passes', (version) => about({ finding: 'throttled', cause: 'service', version })],
  ['disabled', 'passes', () => about({ finding: 'disabled', version: undefined })],
  ['a broker that cannot reach its table', 'passes', () => problem('table-unavailable')],
  ['a function that AWS cannot start', 'passes', () => answerWith(502, {})],
  ['rejected', 'asks', (version) => about({ finding: 'rejected', version })],
  ['secret-malformed', 'asks', () => about({ finding: 'secret-malformed', version: undefined })],
  ['misconfigured', 'asks', (version) => about({ finding: 'misconfigured', version })],
  ['throttled', 'asks', (version) => about({ finding: 'throttled', cause: 'another-version', version })],
  ['accepted, of another version', /secret-changed/, () => about({ finding: 'accepted', version: 'another' })],
  ['accepted, of no version', /secret-changed/, () => about({ finding: 'accepted', version: undefined })],
  ['secret-missing', /secret-changed/, () => about({ finding: 'secret-missing', version: undefined })],
  ['invalid-request', /invalid-request/, () => problem('invalid-request')],
  ['a signature that AWS refuses', /aws-forbidden/, () => answerWith(403, { Message: 'Forbidden' })],
];

describe('client promote --force, when a service answers', () => {
  it.for(FINDINGS)('%s, asks only about what --yes must not answer', async ([what, outcome, answer], { world }) => {
    const version = await world.store(NEW);
    const current = (await world.describe()).AWSCURRENT;
    const { url } = await brokerWith(answer(version), version);
    const env = { ...world.shell, TOKEN_BROKER_URL: url };
    const isEnding = outcome instanceof RegExp;
    const state = what === 'rejected' ? /rejected by customer-insights/ : /untried on customer-insights \(/;
    const column = what === 'rejected' ? /^customer-insights +rejected +tried /m : /^customer-insights .* untried /m;
    const undo = new RegExp(`Promoted by --force, ${state.source}.* client rollback undoes it`);
    const kept = new RegExp(`It stays pending, .*--force --accept-rejected promotes it although it is ${state.source}`);
    const [done, pending] = [ended(0, column, undo), ended(1, /is AWSPENDING/, kept)];
    const refused = ended(1, '', isEnding ? outcome : /./);

    const question = `Promote the ${what === 'rejected' ? 'rejected' : 'untried'} credential? [y/N] `;
    const asked = await typeAtCommandLine(`${PROMOTE} --yes`.split(' '), env, [[question, 'n\n']]);
    expect(asked.screen.includes('Promote the ')).toBe(outcome === 'asks');
    if (outcome === 'asks') expect(asked.screen).toMatch(new RegExp(`The version is ${state.source}`));
    // The previous version of a disabled client may be the leaked version.
    expect(asked.screen.includes('client rollback undoes it')).toBe(outcome === 'passes' && what !== 'disabled');
    const start = /disabled\)\. client enable starts the client with it, and client check then tries it\.\n$/;
    expect(start.test(asked.screen)).toBe(what === 'disabled');
    expect(asked.exitCode).toBe(outcome === 'passes' ? 0 : 1);
    expect((await world.describe()).AWSCURRENT).toBe(outcome === 'passes' ? version : current);

    if (outcome === 'passes') return;
    const scripted = await world.run(`${PROMOTE} --yes`, { env });
    expect(scripted).toEqual(isEnding ? refused : pending);
    const accepting = await world.run(`${PROMOTE} --yes --accept-rejected`, { env });
    expect(accepting).toEqual(isEnding ? refused : done);
    expect((await world.describe()).AWSCURRENT).toBe(isEnding ? current : version);
  });
});

describe('two operators at once', () => {
  it('do not put the version of the other into use, and read nothing about a version that is gone', async ({
    world,
  }) => {
    for (const options of ['', ' --force', ' --force --accept-rejected']) {
      await world.store(NEW);
      const current = (await world.describe()).AWSCURRENT;
      let other = '';
      // The other operator stores a version between the read of the stages and the check.
      const broker = await answering(async (response, request) => {
        other ||= await world.store(WRONG);
        const answer = answerWith(200, checked({ ...JSON.parse(request.body), version: other }));
        return answer(response, request);
      });
      const env = { TOKEN_BROKER_URL: broker.url };
      const result = await world.run(`client promote acme --yes --region us-east-1${options}`, { env });
      const changed = /error: secret-changed: Version \S+ was not promoted: another operator has changed the secret\n/;
      expect(result).toEqual(ended(1, '', changed));
      expect(result.stderr).not.toMatch(/stays pending/);
      expect(await world.describe()).toMatchObject({ AWSCURRENT: current, AWSPENDING: other });
    }
  });

  it.for(['y', 'n'])(
    'read of the version of the other also after the second question, answered with %s',
    async (answer, { world }) => {
      const version = await world.store(NEW);
      const current = (await world.describe()).AWSCURRENT;
      const { url } = await brokerWith(about({ finding: 'rejected', version }), version);
      let other = '';
      const meanwhile = async () => {
        other = await world.store(WRONG);
        return `${answer}\n`;
      };
      const { exitCode, screen } = await typeAtCommandLine(
        PROMOTE.split(' '),
        { ...world.shell, TOKEN_BROKER_URL: url },
        [
          ['Continue? [y/N] ', 'y\n'],
          ['credential? [y/N] ', meanwhile],
        ],
      );
      expect([exitCode, screen]).toEqual([1, expect.stringMatching(/error: secret-changed: /)]);
      expect(screen).not.toMatch(/stays pending/);
      expect(await world.describe()).toMatchObject({ AWSCURRENT: current, AWSPENDING: other });
    },
  );

  it('keep the pending version of the other, and what was made current meanwhile', async ({ world }) => {
    const { shell } = openShell(world.shell);
    const secrets = openSecrets(shell, { environment: 'local' });
    const own = await world.store(NEW);
    const before = await secrets.find('acme');
    if (before === undefined) throw new Error('acme is missing');
    const other = await world.store(OLD);

    await expect(secrets.moveStage('acme', 'AWSPENDING', own)).rejects.toMatchObject({ type: 'secret-changed' });
    expect((await world.describe()).AWSPENDING).toBe(other);
    const current = (await world.describe()).AWSCURRENT;
    const moved = { VersionStage: 'AWSCURRENT', RemoveFromVersionId: current, MoveToVersionId: other };
    await world.secretsManager.send(new UpdateSecretVersionStageCommand({ SecretId: ACME, ...moved }));
    await expect(secrets.makeCurrent(before, own)).rejects.toMatchObject({ type: 'secret-changed' });
    expect((await world.describe()).AWSCURRENT).toBe(other);
  });

  it('keep the tag of a version that the other is about to store, and lose that of a version without a stage', async ({
    world,
  }) => {
    const { shell } = openShell(world.shell);
    const secrets = openSecrets(shell, { environment: 'local' });
    const about = await world.store(NEW);
    const tags = [about, 'about-to-be-stored'].map((id) => ({ Key: `services:${id}`, Value: SERVICES[0] }));
    await world.secretsManager.send(new TagResourceCommand({ SecretId: ACME, Tags: tags }));
    await world.store(NEW);
    const before = await secrets.find('acme');
    if (before === undefined) throw new Error('acme is missing');

    const version = { versionId: crypto.randomUUID(), text: new Redacted('{}'), services: SERVICES[1] };
    await secrets.add(before, version);
    const { servicesOf } = { ...(await secrets.find('acme')) };
    expect(Object.fromEntries(servicesOf ?? [])).toEqual({
      'about-to-be-stored': SERVICES[0],
      [version.versionId]: SERVICES[1],
    });
  });
});
