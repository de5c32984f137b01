import { GetResourcePolicyCommand, PutResourcePolicyCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { repeatAtOnce } from '../../../support/processes/stand-ins.ts';
import { answerWith } from '../../../unit/client/loopback-server.ts';
import { answering, beginCommandLine, ended } from '../shared/command-line.ts';
import { inFrontOf, it, type OperatorWorld, SERVICES } from '../shared/operator-world.ts';

const CHECK = 'client check acme';
const DISABLE = 'client disable acme --yes';
const ENABLE = 'client enable acme --yes';
const IN_ADVANCE = '--yes --even-if-missing';
const SecretId = 'token-broker/local/acme';
const [INSIGHTS] = SERVICES;
const NO_SECRETS = { env: { AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:9' } };
const NO_TABLE = { env: { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' } };
const FLAG_SET = 'The flag is set: within 60 s no instance of the function that can read the table issues a token .*';
const FLAG_MISSING = 'The flag may be missing on a service: there the broker may continue to issue tokens of acme.';
const DENIED = 'The secret is denied to the broker: no instance of the function can use it.';
const UNREAD =
  'AWS has not confirmed that the secret is denied. Unless it is, an instance .* cannot read the table .* may continue .*';
const STILL = 'acme keeps its flags. client show acme shows what is disabled.';
const HALFWAY =
  'acme may be enabled in part: its secret can be read, and a flag may be left. client show acme shows what is disabled.';
const STOPPED = expect.stringMatching(/^client-disabled: .*is denied to the broker by a statement of its own policy/);
const BOTH_DISABLED = /customer-insights +disabled .*\nmerchant-\S+ +disabled/;

describe('client disable', () => {
  it('stops every service of the environment, can be repeated, and enable starts them again', async ({ world }) => {
    const effect = /^(?!.*disabled before).*\nWithin 60 s no caller is issued a token of acme\..*\n$/s;
    const told = ended(0, 'acme is disabled on customer-insights, merchant-payment-cleansing\n', effect);
    // It does not need the broker.
    expect(await world.run(DISABLE, { env: { TOKEN_BROKER_URL: '' } })).toEqual(told);
    const policy = await policyOf(world);
    const again = /\nIt was disabled before, since \d{4}-\S+Z\.\nWithin 60 s no caller/;
    expect(await world.run(DISABLE)).toEqual({ ...told, stderr: expect.stringMatching(again) });
    expect(await policyOf(world)).toEqual(policy);
    expect((await world.run(CHECK)).stdout).toMatch(BOTH_DISABLED);
    const refused = world.caller.token({ client: 'acme', service: INSIGHTS });
    await expect(refused).rejects.toMatchObject({ type: 'client-disabled' });

    const enabled = { environment: 'local', client: 'acme', services: SERVICES, disabled: false };
    expect(await world.json(ENABLE)).toEqual({ ...enabled, within_seconds: 60, secret_denied: false });
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0 });
    // No policy stays behind where there was none.
    expect(await policyOf(world)).toBeUndefined();
    expect(await world.run(ENABLE)).toMatchObject({ exitCode: 0 });
  });

  it('denies the secret to the role of the token function, and keeps the rest of its policy', async ({ world }) => {
    const others = { Version: '2008-10-17', Id: 'ours', Statement: { Sid: 'Theirs', Effect: 'Deny', Principal: '*' } };
    const ResourcePolicy = JSON.stringify(others);
    await world.secretsManager.send(new PutResourcePolicyCommand({ SecretId, ResourcePolicy }));
    expect(await world.json(DISABLE)).toMatchObject({ disabled: true, secret_denied: true });
    const Condition = { ArnEquals: { 'aws:PrincipalArn': 'arn:aws:iam::111111111111:role/token-broker-local' } };
    const read = { Principal: '*', Action: 'secretsmanager:GetSecretValue', Resource: '*' };
    const denial = { Sid: 'TokenBrokerDisabled', Effect: 'Deny', ...read, Condition };
    expect(await policyOf(world)).toEqual({ ...others, Statement: [others.Statement, denial] });
    await world.run(ENABLE);
    expect(await policyOf(world)).toEqual({ ...others, Statement: [others.Statement] });
  });

  it('sets the flag alone with --service, and says where it does not hold', async ({ world }) => {
    const told = 'acme is disabled on customer-insights\n';
    const warning = /does not stop an instance of the function that cannot read the table/;
    expect(await world.run(`${DISABLE} --service ${INSIGHTS}`)).toEqual(ended(0, told, warning));
    expect(await policyOf(world)).toBeUndefined();
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +disabled .*\nmerchant-\S+ +accepted/);
    const enabled = await world.run(`${ENABLE} --service ${INSIGHTS} --json`);
    expect(JSON.parse(enabled.stdout)).not.toHaveProperty('secret_denied');
    expect(enabled.stderr).toMatch(/Only the flag of this service is removed/);
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0 });
  });

  it('stops a client whose secret is marked for deletion, which no instance can read', async ({ world }) => {
    await world.run('client delete acme --yes');
    const again =
      /in the table token-broker-local\n.*\nThe secret \S+ is marked for deletion: disable acme again when/s;
    expect(await world.run(DISABLE)).toEqual(ended(0, /^acme is disabled on /, again));
  });

  it('stops a client without a secret in advance, on the services of the variable', async ({ world }) => {
    const env = { TOKEN_BROKER_SERVICES: 'customer-insights  other' };
    const { stdout, stderr } = await world.run(`client disable globex ${IN_ADVANCE} --json`, { env });
    const services = ['customer-insights', 'other'];
    expect(JSON.parse(stdout)).toMatchObject({ client: 'globex', services, disabled: true, secret_denied: false });
    expect(stderr).toMatch(/^- denies the secret token-broker\/local\/globex to the role \S+, if it exists$/m);
    expect(stderr).toMatch(/The secret token-broker\/local\/globex is missing: disable globex again when/);
    const inProd = await world.json('client disable acme --even-if-missing --dry-run --environment prod');
    expect(inProd.changes[0]).toContain(`on ${SERVICES.join(', ')}, in the table token-broker-prod`);
  });
});

it('an instance that cannot read the table issues no token of a disabled client', async ({ world }) => {
  const { url, failWith } = await inFrontOf('DYNAMODB');
  const caller = await world.newInstance(url);
  const ask = async () => {
    const answers = await Promise.allSettled(SERVICES.map((service) => caller.token({ client: 'acme', service })));
    return answers.map((answer) =>
      answer.status === 'fulfilled' ? 'a token' : `${answer.reason.type}: ${answer.reason.detail}`,
    );
  };
  expect(await ask()).toEqual(['a token', 'a token']);
  failWith('reset');
  world.letTimePass(60_000);
  expect(await ask()).toEqual(['a token', 'a token']);
  await world.run(DISABLE);
  world.letTimePass(60_000);
  // The first call that hears of the stop drops the tokens of all pairs of the client.
  const answers = await ask();
  expect(answers).toContainEqual(STOPPED);
  expect(answers).not.toContain('a token');
});

async function policyOf({ secretsManager }: OperatorWorld): Promise<unknown> {
  const { ResourcePolicy } = await secretsManager.send(new GetResourcePolicyCommand({ SecretId }));
  return ResourcePolicy === undefined ? undefined : JSON.parse(ResourcePolicy);
}

describe('a busy table', () => {
  it('delays client enable, client retry and the flags of client disable, and not its denial', async ({ world }) => {
    const secrets = await inFrontOf('SECRETS_MANAGER');
    const env = await busyTable(() => secrets.operations.includes('PutResourcePolicy'));
    expect(await world.run(DISABLE, { env: { ...env, ...secrets.env } })).toMatchObject({ exitCode: 0 });
    expect((await world.run(CHECK)).stdout).toMatch(BOTH_DISABLED);
    for (const command of [ENABLE, 'client retry acme --yes']) {
      let calls = 0;
      expect(await world.run(command, { env: await busyTable(() => ++calls > 20) })).toMatchObject({ exitCode: 0 });
    }
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0 });
  });

  it.for([
    ['disable', `${FLAG_MISSING}\n${DENIED}`],
    ['enable', HALFWAY],
  ] as const)('ends client %s after a minute, with its reason after two seconds', async ([verb, state], { world }) => {
    const startedAt = Date.now();
    const env = await busyTable(() => {
      world.letTimePass(2_000);
      return false;
    });
    const error = 'error: aws-throttled: The table is busy: DynamoDB has throttled every call for a minute';
    const told = `\n${BUSY}\n${state}\n${error}\nRun the command again; .*\n$`;
    expect(await world.run(`client ${verb} acme --yes`, { env })).toEqual(ended(1, '', new RegExp(told)));
    expect(Date.now() - startedAt).toBeGreaterThan(60_000);
  });

  it('does not outlast Ctrl-C', async ({ world }) => {
    const env = await busyTable(() => {
      command.interrupt();
      return false;
    });
    const command = beginCommandLine(ENABLE.split(' '), { ...world.shell, ...env });
    expect(await command.finished).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('Interrupted: ') });
  });
});

const BUSY = String.raw`The table is busy \(ThrottlingException\): trying for a minute\.`;

/** The variable of a table that throttles each call until it is free. Nothing waits between two calls. */
async function busyTable(isFree: () => boolean) {
  repeatAtOnce();
  return (await inFrontOf('DYNAMODB', () => (isFree() ? undefined : 'throttled'))).env;
}

describe('client disable, refused or failed', () => {
  it('says that there is no table, or no names of services', async ({ world }) => {
    const inDev = await world.run(`client disable acme ${IN_ADVANCE} --environment dev`);
    expect(inDev).toEqual(ended(1, '', /aws-not-found: .* in eu-west-1 /));
    const wrong = await world.run(DISABLE, { env: { TOKEN_BROKER_SERVICES: 'a,b' } });
    expect(wrong).toEqual(ended(1, '', /services-unknown/));
  });

  it.for([
    ['disable', 'DynamoDB', NO_TABLE, `${FLAG_MISSING}\n${DENIED}`],
    ['enable', 'DynamoDB', NO_TABLE, HALFWAY],
    ['disable', 'Secrets Manager', NO_SECRETS, `${FLAG_SET}\n${UNREAD}`],
    ['enable', 'Secrets Manager', NO_SECRETS, STILL],
  ] as const)(
    '%s says once that it cannot reach %s, and what holds',
    async ([verb, service, env, state], { world }) => {
      const exists =
        service === 'DynamoDB' ? '' : String.raw`^Whether the client "acme" exists is unknown \(aws-un\S+\.[^]*`;
      const told = `${exists}\n${state}\nerror: aws-unavailable: Nothing answers at http://127.0.0.1:9\n.*\n$`;
      expect(await world.run(`client ${verb} acme --yes`, env)).toEqual(ended(1, '', new RegExp(told)));
      if (state.startsWith(FLAG_SET)) expect((await world.run(CHECK)).stdout).toMatch(BOTH_DISABLED);
    },
  );

  it('sets the other flags when one cannot be set, and says which one it is', async ({ world }) => {
    const { url } = await answering((response, request) => {
      const isDenied = request.body.includes(`/${INSIGHTS}`);
      answerWith(isDenied ? 400 : 200, isDenied ? { __type: 'AccessDeniedException' } : {})(response, request);
    });
    const told = /\nDone for 1 of 2, not for acme on customer-insights\.\n(?!.*UpdateItem.*UpdateItem).*UpdateItem/s;
    expect(await world.run(DISABLE, { env: { AWS_ENDPOINT_URL_DYNAMODB: url } })).toEqual(ended(1, '', told));
  });

  it('leaves the policy to the emergency role, and its flags to the operator', async ({ world }) => {
    const { env } = await inFrontOf('SECRETS_MANAGER', ({ operation }) =>
      /^(?:Put|Delete)ResourcePolicy$/.test(operation) ? 'access-denied' : undefined,
    );
    const refused = (verb: string, action: string, state: string) => {
      const error = `error: aws-access-denied: .*: secretsmanager:${action}ResourcePolicy .*`;
      return ended(1, '', new RegExp(`\n${state}\n${error}\n${EMERGENCY} client ${verb} acme --environment local\n$`));
    };
    expect(await world.run(DISABLE, { env })).toEqual(refused('disable', 'Put', `${FLAG_SET}\n${UNREAD}`));
    expect((await world.run(CHECK)).stdout).toMatch(BOTH_DISABLED);
    // The emergency role has written no denial.
    expect(await world.run(ENABLE, { env })).toMatchObject({ exitCode: 0 });
    await world.run(DISABLE);
    expect(await world.run(ENABLE, { env })).toEqual(refused('enable', 'Delete', STILL));
  });

  const EMERGENCY = 'The emergency role may do this .*, the operator may not. As that role:';

  it('claims nothing of a denial that AWS has written when Ctrl-C comes before the answer', async ({ world }) => {
    const { env } = await inFrontOf('SECRETS_MANAGER', ({ operation }) => {
      if (operation !== 'PutResourcePolicy') return undefined;
      command.interrupt();
      return 'lost-answer';
    });
    const command = beginCommandLine(DISABLE.split(' '), { ...world.shell, ...env });
    expect(await command.finished).toEqual(ended(130, '', new RegExp(`${UNREAD}\n`)));
    await expect.poll(() => policyOf(world)).toMatchObject({ Statement: [{ Sid: 'TokenBrokerDisabled' }] });
  });
});
