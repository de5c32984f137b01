import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Finished, SHELL_KEY } from '../e2e/commands/command-line.ts';
import { startSecretsManager } from '../support/stand-ins.ts';
import { type Answer, answerWith, startLoopbackServer } from '../unit/client/loopback-server.ts';
import { ECHOES, expectSilence, MARKS } from './command-echoes.ts';
import { basicOf } from './leak-marks.ts';
import { credentialOf } from './leak-world.ts';

const PAIR = ['--client', 'acme', '--service', 'customer-insights'];
const PUT = ['client', 'put', 'acme', '--create', '--services', 'customer-insights', '--json'];

const COMMANDS: readonly (readonly string[])[] = [
  ['token', ...PAIR, '--json'],
  ['client', 'check', 'acme', '--json'],
  ['client', 'list', '--json'],
  ['client', 'promote', 'acme', '--json'],
  ['client', 'rollback', 'acme', '--yes'],
  ['client', 'disable', 'acme', '--yes', '--json'],
  ['client', 'enable', 'acme', '--yes'],
  ['client', 'retry', 'acme', '--yes', '--json'],
  ['health', '--json'],
  ['health', '--run'],
  ['doctor', ...PAIR, '--json'],
  PUT,
];

const ENDPOINTS = ['TOKEN_BROKER_URL', 'TOKEN_BROKER_CONTROL_URL'].concat(
  ['SECRETS_MANAGER', 'DYNAMODB', 'STS', 'LAMBDA'].map((service) => `AWS_ENDPOINT_URL_${service}`),
);

const named = COMMANDS.map((args) => ({ args, name: args.slice(0, 2).join(' ') }));

it.each(named)('the command "$name" shows nothing of what a server repeats to it', async ({ args }) => {
  await Promise.all(ECHOES.map(([, answer]) => expectSilenceBetween(args, answer)));
});

/** Each is a process: those that begin in the same way are not asked everything twice. */
const FEW = ECHOES.filter(([who]) => who === 'a gateway' || who === 'a server whose members are wrong');

/** Most of them begin with the secret, and go on only when there is one. */
it.each(named.filter(({ name }) => name.startsWith('client') || name.startsWith('health')))(
  'the command "$name" says nothing of what the broker and the table repeat, nor of the secret itself',
  async ({ args }) => {
    await Promise.all(
      FEW.map(async ([, answer]) => {
        const { store, url, close } = await startSecretsManager({
          keys: [{ ...SHELL_KEY, sessionToken: MARKS.sessionToken }],
        });
        const { versions } = store.create('token-broker/local/acme');
        for (const stage of ['AWSCURRENT', 'AWSCURRENT', 'AWSPENDING']) {
          versions.add(randomUUID(), { SecretString: credentialOf(MARKS.clientId, MARKS.secret) }, [stage]);
        }
        await expectSilenceBetween(args, answer, { AWS_ENDPOINT_URL_SECRETS_MANAGER: url }).finally(close);
      }),
    );
  },
);

async function expectSilenceBetween(args: readonly string[], answer: Answer, good = {}): Promise<Finished> {
  const { url, close } = await startLoopbackServer(answer);
  const endpoints = { ...Object.fromEntries(ENDPOINTS.map((name) => [name, url])), ...good };
  return expectSilence(args, endpoints, credentialOf(MARKS.clientId, MARKS.secret)).finally(close);
}

it.each(['client list', 'health'])('the command "%s" shows only the place of a defect', async (command) => {
  // AWS never answers like this, and the command line has no message for it.
  const answer = answerWith(200, { SecretList: { [MARKS.secret]: MARKS.token } });
  const { stdout, stderr } = await expectSilenceBetween([...command.split(' '), '--json'], answer);
  expect(JSON.parse(stdout)).toEqual({ type: 'internal', detail: 'The command has a defect: TypeError' });
  expect(stderr).toMatch(/\nReport where: at .*\/bin\/commands\/shared\/secrets\.ts:\d+/);
});

describe('the command "client put"', () => {
  it.each([
    ['JSON that breaks off', credentialOf(MARKS.clientId, MARKS.secret).slice(0, -9)],
    ['a secret without quotes', `{"client_id":"x","secret":${MARKS.secret}}`],
    ['the bare secret', MARKS.secret],
    ['the secret as a name', JSON.stringify({ [MARKS.secret]: MARKS.clientId })],
    ['a line break in the secret', credentialOf(MARKS.clientId, `${MARKS.secret}\n`)],
  ])('says nothing of %s', async (_, input) => {
    await expectSilence(PUT, { TOKEN_BROKER_URL: NOWHERE, AWS_ENDPOINT_URL_SECRETS_MANAGER: NOWHERE }, input);
  });

  it.each([[`--secret=${MARKS.secret}`], [MARKS.secret], [`--secret=${basicOf(MARKS)}'x'`]])(
    'says nothing of a secret that is given as an argument: %s',
    async (argument) => {
      await expectSilence([...PUT, argument], { TOKEN_BROKER_URL: NOWHERE, AWS_ENDPOINT_URL_SECRETS_MANAGER: NOWHERE });
    },
  );
});

describe('the command line', () => {
  it.each([
    [[MARKS.secret]],
    [['client', MARKS.secret]],
    [['client', 'put', MARKS.secret]],
    [['client', 'put', 'acme', '--services', MARKS.secret]],
    [['client', 'put', 'acme', `-p${MARKS.clientId}`]],
    [['client', 'put', 'acme', `--secret:${MARKS.clientId}`]],
    [['client', 'put', 'acme', `--'=' is invalid.=${MARKS.secret}`]],
    [['client', 'rollback', `' is invalid.\n${MARKS.secret}`]],
    [['client', 'disable', 'acme', '--yes', '--region', MARKS.secret]],
    [['client', 'retry', 'acme', '--yes', '--service', MARKS.secret]],
    [['token', ...PAIR, '--min-ttl', MARKS.token]],
    [['token', ...PAIR, '--refused', MARKS.token]],
    [['health', '--every', MARKS.secret]],
    [['policy', MARKS.secret]],
    [['doctor', '--auth-url', `https://${MARKS.clientId}:${MARKS.secret}@auth.example.com`]],
  ])('says nothing of a secret in the wrong place: %j', async (args) => {
    await expectSilence(args, { TOKEN_BROKER_URL: NOWHERE, AWS_ENDPOINT_URL_DYNAMODB: NOWHERE });
  });

  it('says nothing of a secret in the wrong variable', async () => {
    await expectSilence(['config'], { TOKEN_BROKER_ENVIRONMENT: MARKS.secret });
  });
});

const NOWHERE = 'http://127.0.0.1:9';
