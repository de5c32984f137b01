import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Finished, ISOLATED, runCommandLine, SHELL_KEY } from '../../e2e/commands/shared/command-line.ts';
import { startSecretsManager } from '../../support/processes/stand-ins.ts';
import { type Answer, answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { echoOf, findLeaks, marksOf, SPELLINGS, type Spelling } from './marks.ts';
import { credentialOf } from './world.ts';

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

const ENDPOINTS = ['TOKEN_BROKER_URL', 'TOKEN_BROKER_CONTROL_URL', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_STS'];

/** Servers that answer every request of a command with everything; words that people made up can stand only where words do. */
function echoesOf(spelling: Spelling): readonly Answer[] {
  const marks = marksOf(spelling);
  const echo = `${echoOf(marks)} ${marks.sessionToken}`;
  const type = { 'x-amzn-errortype': 'InvalidSignatureException' };
  const members = { access_token: [marks.token], [marks.secret]: echo };
  const words = [answerWith(400, { __type: marks.secret, message: echo }), answerWith(200, members)];
  if (spelling === 'plain') return words;
  return [
    answerWith(502, `<html>${echo}`, { 'x-echo': echo }),
    answerWith(302, echo, { location: `https://example.com/?${marks.token}` }),
    answerWith(403, { message: `The request signature we calculated … ${echo}` }, type),
    answerWith(200, `{"access_token":"${echo}`),
    ...words,
  ];
}

const named = COMMANDS.map((args) => ({ args, name: args.slice(0, 2).join(' ') }));

describe.each(SPELLINGS)('with %s marks, the command', (spelling) => {
  const marks = marksOf(spelling);

  it.each(named)('"$name" shows no secret that a server repeats to it', async ({ args }) => {
    await Promise.all(echoesOf(spelling).map((answer) => expectSilenceBetween(spelling, args, answer)));
  });

  // Most of them begin with the secret, and go on only when there is one.
  it.each(named.filter(({ name }) => name.startsWith('client') || name.startsWith('health')))(
    '"$name" shows neither the secret nor an echo of it from the broker or the table',
    async ({ args }) => {
      const key = { ...SHELL_KEY, sessionToken: marks.sessionToken };
      const { store, url, close } = await startSecretsManager({ keys: [key] });
      const { versions } = store.create('token-broker/local/acme');
      for (const stage of ['AWSCURRENT', 'AWSCURRENT', 'AWSPENDING']) {
        versions.add(randomUUID(), { SecretString: credentialOf(marks.clientId, marks.secret) }, [stage]);
      }
      const answer = answerWith(200, { access_token: [marks.token], [marks.secret]: echoOf(marks) });
      await expectSilenceBetween(spelling, args, answer, { AWS_ENDPOINT_URL_SECRETS_MANAGER: url }).finally(close);
    },
  );

  it.each(['client list', 'health'])('"%s" shows only the place of a defect', async (command) => {
    // AWS never answers like this, and the command line has no message for it.
    const answer = answerWith(200, { SecretList: { [marks.secret]: marks.token } });
    const { stdout, stderr } = await expectSilenceBetween(spelling, [...command.split(' '), '--json'], answer);
    expect(JSON.parse(stdout)).toEqual({ type: 'internal', detail: 'The command has a defect: TypeError' });
    expect(stderr).toMatch(/\nReport where: at .*\/cli\/shared\/secrets\.ts:\d+/);
  });
});

/** An operator's own words may be shown to that operator, so these marks have characters that no word has. */
const { clientId, secret } = marksOf('odd');

it.each<[readonly string[], string?]>([
  [PUT, credentialOf(clientId, secret).slice(0, -9)],
  [PUT, JSON.stringify({ [secret]: clientId })],
  [[secret]],
  [[...PUT, `--secret=${secret}`]],
  [['client', 'put', 'acme', '--services', secret]],
  [['client', 'put', 'acme', `-p${clientId}`]],
  [['client', 'put', 'acme', `--'=' is invalid.=${secret}`]],
  [['client', 'rollback', `' is invalid.\n${secret}`]],
  [['client', 'disable', 'acme', '--yes', '--region', secret]],
  [['doctor', '--auth-url', `https://${clientId}:${secret}@auth.example.com`]],
])('the command line says nothing of a secret in the wrong place: %j %j', async (args, input) => {
  await expectSilence('odd', args, ENDPOINTS_NOWHERE, input);
});

const ENDPOINTS_NOWHERE = Object.fromEntries(ENDPOINTS.map((name) => [name, 'http://127.0.0.1:9']));

async function expectSilenceBetween(
  spelling: Spelling,
  args: readonly string[],
  answer: Answer,
  good: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const { url, close } = await startLoopbackServer(answer);
  const { clientId, secret } = marksOf(spelling);
  const endpoints = { ...Object.fromEntries(ENDPOINTS.map((name) => [name, url])), ...good };
  return expectSilence(spelling, args, endpoints, credentialOf(clientId, secret)).finally(close);
}

/** Runs the command line, and finds no mark in its output. */
async function expectSilence(
  spelling: Spelling,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input?: string,
): Promise<Finished> {
  const shell = { ...ISOLATED, AWS_SESSION_TOKEN: marksOf(spelling).sessionToken, ...env };
  const result = await runCommandLine(args, shell, input);
  const { stdout, stderr } = result;
  expect(stdout + stderr).not.toBe('');
  expect(findLeaks({ stdout, stderr }, spelling)).toEqual([]);
  return result;
}
