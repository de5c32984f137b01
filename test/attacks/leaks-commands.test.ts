import { describe, expect, it } from 'vitest';
import { ISOLATED, runCommandLine } from '../bin/commands/command-line.ts';
import { type Answer, answerWith, startLoopbackServer } from '../client/loopback-server.ts';
import { basicOf, echoOf, findLeaks, marksOf } from './leak-marks.ts';
import { credentialOf } from './leak-world.ts';

const SPELLING = 'odd';
const MARKS = marksOf(SPELLING);
const ECHO = `${echoOf(MARKS)} ${MARKS.sessionToken}`;
const PAIR = ['--client', 'acme', '--service', 'customer-insights'];
const PUT = ['client', 'put', 'acme', '--services', 'customer-insights', '--json'];

/** Who answers every request of a command, and repeats everything in it. */
const ECHOES: readonly (readonly [who: string, answer: Answer])[] = [
  ['a gateway', answerWith(502, `<html>${ECHO}`, { 'x-echo': ECHO })],
  ['somebody who sends elsewhere', answerWith(302, ECHO, { location: `https://example.com/?${MARKS.token}` })],
  [
    'AWS that shows what was signed',
    answerWith(
      403,
      { message: `The request signature we calculated … ${ECHO}` },
      { 'x-amzn-errortype': 'InvalidSignatureException' },
    ),
  ],
  ['AWS that names an error by the token', answerWith(400, { __type: MARKS.token, message: ECHO })],
  ['somebody whose JSON breaks off', answerWith(200, `{"access_token":"${ECHO}`)],
  ['somebody whose members are wrong', answerWith(200, { access_token: [MARKS.token], [MARKS.secret]: ECHO })],
];

const COMMANDS: readonly (readonly string[])[] = [
  ['token', ...PAIR, '--json'],
  ['client', 'check', 'acme', '--json'],
  ['client', 'list', '--json'],
  ['doctor', ...PAIR, '--json'],
  PUT,
];

it.each(COMMANDS.map((args) => ({ args, name: args.slice(0, 2).join(' ') })))(
  'the command "$name" says nothing of what anybody repeats to it',
  async ({ args }) => {
    await Promise.all(
      ECHOES.map(async ([, answer]) => {
        const { url, close } = await startLoopbackServer(answer);
        const endpoints = { TOKEN_BROKER_URL: url, AWS_ENDPOINT_URL_SECRETS_MANAGER: url, AWS_ENDPOINT_URL_STS: url };
        await expectSilence(args, endpoints, credentialOf(MARKS.clientId, MARKS.secret)).finally(close);
      }),
    );
  },
);

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
    [['client', 'disable', 'acme', '--region', MARKS.secret]],
    [['client', 'retry', 'acme', '--service', MARKS.secret]],
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

async function expectSilence(args: readonly string[], env: Readonly<Record<string, string>>, input?: string) {
  const shell = { ...ISOLATED, AWS_SESSION_TOKEN: MARKS.sessionToken, ...env };
  const { stdout, stderr } = await runCommandLine(args, shell, input);
  expect(stdout + stderr).not.toBe('');
  expect(findLeaks({ stdout, stderr }, SPELLING)).toEqual([]);
}
