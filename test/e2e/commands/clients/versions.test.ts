import { PutSecretValueCommand, type SecretsManager, TagResourceCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it as plain } from 'vitest';
import { openSecretsManager } from '../../../../cli/shared/secrets.ts';
import { repeatAtOnce } from '../../../support/processes/stand-ins.ts';
import { checked, problem } from '../../../unit/client/broker-answers.ts';
import { answerWith } from '../../../unit/client/loopback-server.ts';
import { answering, ended, openShell, typeAtCommandLine } from '../shared/command-line.ts';
import { ACME, inFrontOf, it, NEW, OLD, SERVICES, WRONG } from '../shared/operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
const CHECK = 'client check acme';
const ACCEPTED = /^SERVICE +FINDING .*\ncustomer-insights +accepted .* request .*\nmerchant-.* accepted .*\n$/;
const LATCHED = /customer-insights +rejected .* latch .*\nmerchant-payment-cleansing +rejected/;

type Row = readonly [what: string, command: string, exitCode: number, stdout: RegExp | string, stderr?: RegExp];

describe('client check', () => {
  it.for<Row>([
    ['shows a finding for each service of the client', CHECK, 0, ACCEPTED],
    ['tells which version is missing', `${CHECK} --stage AWSPREVIOUS`, 1, /secret-missing/, /has no version with this/],
    ['names the obstacle only once', `${CHECK} --region eu-west-1`, 1, '', /^error: aws-wrong-scope: .*\n.*\n$/],
  ])('%s', async ([_, command, exitCode, stdout, stderr], { world }) => {
    expect(await world.run(command)).toEqual(ended(exitCode, stdout, stderr));
  });

  it('asks once more when the turn of a version comes soon, and says else when it comes', async ({ world }) => {
    const told = (finding: string) => checked({ client: 'acme', service: INSIGHTS, stage: 'AWSPENDING', finding });
    const answers = [answerWith(200, told('throttled'), { 'retry-after': '0' }), answerWith(200, told('accepted'))];
    const late = answerWith(200, told('throttled'), { 'retry-after': '3600' });
    const broker = await answering((...call) => (answers.shift() ?? late)(...call));
    const pending = `${CHECK} --service ${INSIGHTS} --stage AWSPENDING --url ${broker.url}`;
    const waited = /^customer-insights: the broker must wait; asking again in 0 s\.\n$/;
    expect(await world.run(pending)).toEqual(ended(0, /customer-insights +accepted/, waited));
    const until = /^customer-insights: Wait before the next check: .*\(singleActiveToken\)\. Not before \S+Z\.\n$/;
    expect(await world.run(pending)).toEqual(ended(1, /customer-insights +throttled/, until));
  });

  it('answers --json as the broker does, about one service without Secrets Manager', async ({ world }) => {
    const about = { client: 'acme', service: INSIGHTS, stage: 'AWSCURRENT', credential_expires_at: 'never' };
    const [version, time] = [expect.any(String), expect.stringMatching(/Z$/)];
    const proof = { finding: 'accepted', version, checked_at: time, proven_by: 'request', expires_at: time };
    const env = { AWS_ENDPOINT_URL: '' };
    const told = { environment: 'local', client: 'acme', stage: 'AWSCURRENT', checks: [{ ...about, ...proof }] };
    expect(await world.json(`${CHECK} --service ${INSIGHTS}`, { env })).toEqual(told);
  });

  it('ends with 1 and says what to do, once, when a credential is rejected', async ({ world }) => {
    await world.run('client put acme --yes', { input: WRONG });
    const advice = /^customer-insights, merchant-\S+: Store the right credential with client put acme.*\n$/;
    expect(await world.run(`${CHECK} --stage AWSPENDING`)).toEqual(ended(1, LATCHED, advice));
  });
});

describe('client retry', () => {
  it('lets a version be sent again that a service has rejected by mistake', async ({ world }) => {
    world.tokenService.behave(INSIGHTS, { answer: { status: 401 } });
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +rejected/);
    world.tokenService.behave(INSIGHTS, {});
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +rejected .* latch/);

    const cleared = /acme +customer-insights +[0-9a-f]{8} +- +-\nacme +merchant-payment-cleansing +- +- +-\n$/;
    const warning = /up to three times: .* may lock the account/;
    const { stdout, stderr } = await world.run(`client retry acme --yes --service ${CLEANSING} --json`);
    const none = { client: 'acme', service: CLEANSING, versions: [], holds: [], pause: false };
    expect(JSON.parse(stdout)).toMatchObject({ client: 'acme', cleared: [none] });
    expect(stderr).toMatch(/\nNo version was latched or held, and no pair was paused\.\n$/);
    expect(await world.run('client retry acme --yes')).toEqual(ended(0, cleared, warning));
    const proof = /^merchant-payment-cleansing: not asked now: proof of \S+Z\n$/;
    expect(await world.run(CHECK)).toEqual(ended(0, /accepted/, proof));
  });

  it('lets every client of a service be sent again after an outage, and lists the ended pauses', async ({ world }) => {
    await world.addClient('globex', INSIGHTS, OLD);
    await world.addClient('hooli', CLEANSING, OLD);
    world.tokenService.behave(INSIGHTS, { answer: { status: 503, headers: { 'retry-after': '300' } } });
    for (const client of ['acme', 'globex']) await world.run(`client check ${client} --service ${INSIGHTS}`);
    world.tokenService.behave(INSIGHTS, {});
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +unreachable/);

    const cleared = ['acme', 'globex'].map((client) => `${client} +customer-insights +- +- +ended\n`).join('');
    const told = ended(0, new RegExp(`^CLIENT .*\n${cleared}$`), /^Each version that was held or paused may be/m);
    expect(await world.run(`client retry --service ${INSIGHTS} --yes`)).toEqual(told);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +accepted/);
  });
});

it('client retry --service keeps latches without --rejected, and its plan counts the log-ins that it risks', async ({
  world,
}) => {
  await world.addClient('globex', INSIGHTS, OLD);
  world.tokenService.behave(INSIGHTS, { answer: { status: 401 } });
  await world.run(`client check acme --service ${INSIGHTS}`);
  world.tokenService.behave(INSIGHTS, { answer: { status: 404 } });
  await world.run('client check globex');
  world.tokenService.behave(INSIGHTS, {});

  const retry = `client retry --service ${INSIGHTS} --yes`;
  const held = /\n- allows 1 held and unproven pair one more rejected log-in each\n/;
  const all = await world.run(`${retry} --rejected --dry-run`);
  expect(all).toEqual(ended(0, '', /\n- allows 1 latched pair up to three more rejected log-ins each\n/));
  expect(all.stderr).toMatch(held);
  const kept = await world.run(retry);
  const table = /acme +customer-insights +- +- +-\nglobex +customer-insights +- +[0-9a-f]{8} +-\n$/;
  expect(kept).toEqual(ended(0, table, held));
  expect(kept.stderr).not.toMatch(/- allows \d+ latched/);
  expect(kept.stderr).toMatch(/\n1 latched: their service rejected them: only client retry <client>, or --rejected/);
  expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +rejected .* latch/);
  const clearing = await world.run(`${retry} --rejected`);
  expect(clearing).toEqual(ended(0, /acme +customer-insights +[0-9a-f]{8} +- +-\n/, /up to three times/));
  expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +accepted/);
});

it('goes on after a problem of one service', async ({ world }) => {
  const broker = await answering(problem('internal'));
  const { checks } = await world.json(`${CHECK} --url ${broker.url}`);
  expect(checks).toMatchObject(SERVICES.map((service) => ({ service, problem: { type: 'internal' } })));
});

it('a client whose tag names no service is not taken for one that every service accepts', async ({ world }) => {
  await world.store(WRONG);
  const Tags = [{ Key: 'services', Value: ' ' }];
  await world.secretsManager.send(new TagResourceCommand({ SecretId: ACME, Tags }));
  for (const command of [CHECK, 'client promote acme', 'client put acme --yes']) {
    const refused = { exitCode: 1, stderr: expect.stringMatching(/error: services-missing: /) };
    expect(await world.run(command, { input: WRONG }), command).toMatchObject(refused);
  }
  expect(await world.json('client list')).toMatchObject({ clients: [{ services: [] }] });
  expect((await world.run('client list')).stdout).toMatch(/^acme: .*\n +- +- +- +-$/m);
});

const NOWHERE = { env: { TOKEN_BROKER_URL: 'http://127.0.0.1:9' } };

it('client promote --force and client rollback move stages without the broker, and back', async ({ world }) => {
  await world.store(WRONG);
  const unasked = ended(0, /network-error .*is AWSCURRENT/s, /./);
  expect(await world.run('client promote acme --force --yes', NOWHERE)).toEqual(unasked);
  const { AWSCURRENT, AWSPREVIOUS } = await world.describe();

  const back = ended(0, /is AWSCURRENT/, /^(?!.*undoes a rollback).*^It is unchecked: .*another rollback undoes/ms);
  expect(await world.run('client rollback acme --yes', NOWHERE)).toEqual(back);
  expect(await world.describe()).toMatchObject({ AWSCURRENT: AWSPREVIOUS, AWSPREVIOUS: AWSCURRENT });
  const again = await world.run('client rollback acme --yes', NOWHERE);
  expect(again.stderr).toContain('\n- undoes a rollback: it is newer than the current version\n');
  expect(await world.describe()).toMatchObject({ AWSCURRENT, AWSPREVIOUS });
});

const REPLICA = "Operation not permitted on a replica secret. Call must be made in primary secret's region.";
const MANAGED = 'The secret is managed by another service, and you must use that service to update it.';
const MARKED = "You can't perform this operation on the secret because it was marked for deletion.";

const [SecretId, VersionStage] = ['acme', 'AWSCURRENT'];
type Call = (client: SecretsManager) => Promise<unknown>;
const put: Call = (client) => client.putSecretValue({ SecretId, SecretString: '{}' });
const tag: Call = (client) => client.tagResource({ SecretId, Tags: [] });
const move: Call = (client) => client.updateSecretVersionStage({ SecretId, VersionStage });
const remove: Call = (client) => client.deleteSecret({ SecretId });

plain.each<readonly [type: string, name: string, words: string, call: Call]>([
  // @see gruntwork-io/cloud-nuke#435, lgallard/terraform-aws-secrets-manager#188
  ['secret-replica', 'InvalidParameterException', REPLICA, move],
  ['secret-replicated', 'InvalidParameterException', 'marked still has replica regions [a]', remove],
  // @see cloud-custodian/cloud-custodian#11035
  ['secret-managed', 'InvalidRequestException', MANAGED, tag],
  ['secret-deleted', 'InvalidRequestException', MARKED, put],
  ['aws-refused', 'InvalidRequestException', 'marked: something new', put],
  ['aws-access-denied', 'AccessDeniedException', 'User: marked may not, with an explicit deny in an SCP', put],
  // @see platform-engineering-labs/formae#746
  ['secret-full', 'LimitExceededException', 'marked', put],
  ['aws-quota', 'LimitExceededException', 'marked', tag],
])('is %s where AWS refuses by %s, "%s", and repeats nothing', async (type, name, Message, call) => {
  const { url } = await answering(answerWith(400, { __type: name, Message }));
  repeatAtOnce();
  const { shell } = openShell({ AWS_ENDPOINT_URL_SECRETS_MANAGER: url });
  const failure = await call(openSecretsManager(shell, { environment: 'local' })).catch((error: unknown) => error);
  expect(failure).toMatchObject({ type, advice: expect.stringMatching(/\.$/) });
  expect(`${failure}`).not.toMatch(/marked(?! for)/);
});

it('takes a move whose first answer was lost for its own, although AWS refuses the repetition', async ({ world }) => {
  const version = await world.store(NEW);
  let moves = 0;
  const { env } = await inFrontOf('SECRETS_MANAGER', ({ operation }) =>
    operation === 'UpdateSecretVersionStage' && ++moves === 1 ? 'lost-answer' : undefined,
  );
  const moved = ended(0, new RegExp(`version ${version} is AWSCURRENT`), /uses it within 60 s/);
  expect(await world.run('client promote acme', { env })).toEqual(moved);
});

it.for([
  ['discards the version', 'client discard acme --previous --yes', /version-missing/],
  ['goes back first', 'client rollback acme --yes', /secret-changed/],
] as const)(
  'client rollback changes nothing when another operator %s meanwhile',
  async ([_, other, said], { world }) => {
    await world.store(WRONG);
    await world.run('client promote acme --force --yes', NOWHERE);
    let between: unknown;
    const meanwhile = async () => {
      expect(await world.run(other)).toMatchObject({ exitCode: 0 });
      between = await world.describe();
      return 'y\n';
    };
    const rollback = ['client', 'rollback', 'acme', '--region', 'us-east-1'];
    const { exitCode, screen } = await typeAtCommandLine(rollback, world.shell, [['Continue? [y/N] ', meanwhile]]);
    expect([exitCode, screen]).toEqual([1, expect.stringMatching(said)]);
    expect(await world.describe()).toEqual(between);
  },
);

it.for([
  ['client promote acme', /^error: version-missing: No version of acme waits to be promoted/],
  ['client rollback acme --yes', /version-missing: No version of acme precedes the current version/],
] as const)('%s reports that there is no such version', async ([command, message], { world }) => {
  expect(await world.run(command)).toEqual(ended(1, '', message));
  expect(await world.json(command)).toMatchObject({ type: 'version-missing' });
});

it('leads from a secret that was written past client put to the version before it', async ({ world }) => {
  const reason = 'The stored credential cannot be used: the secret is not a JSON object .*';
  await world.secretsManager.send(new PutSecretValueCommand({ SecretId: ACME, SecretString: 'in plain text' }));
  await world.eventsSettled();
  const [message] = world.messages;
  expect(message?.text).toMatch(
    new RegExp(`\n\n${reason}\n\n[^]*\nWhat to do: If \`client check acme --stage AWSPREVIOUS\` `),
  );
  const { stderr } = await world.run('client check acme');
  expect(stderr).toMatch(new RegExp(`${reason} If client check acme --stage AWSPREVIOUS .* client rollback acme: `));
  expect((await world.json('client check acme')).checks[0].detail).toMatch(new RegExp(reason));
  const refused = world.caller.token({ client: 'acme', service: SERVICES[0] });
  await expect(refused).rejects.toMatchObject({ type: 'credential-malformed', detail: expect.stringMatching(reason) });

  await world.run('client rollback acme --yes');
  expect(await world.run('client check acme')).toMatchObject({ exitCode: 0 });
  await world.store({ secret: 'no id' });
  expect((await world.run('client check acme --stage AWSPENDING')).stderr).not.toContain('rollback');
});
