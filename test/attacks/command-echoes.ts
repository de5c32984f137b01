import { expect } from 'vitest';
import { type Finished, ISOLATED, runCommandLine } from '../e2e/commands/command-line.ts';
import { type Answer, answerWith } from '../unit/client/loopback-server.ts';
import { echoOf, findLeaks, marksOf } from './leak-marks.ts';

const SPELLING = 'odd';
export const MARKS = marksOf(SPELLING);
const ECHO = `${echoOf(MARKS)} ${MARKS.sessionToken}`;

/** Who answers every request of a command, and repeats everything in it. */
export const ECHOES: readonly (readonly [who: string, answer: Answer])[] = [
  ['a gateway', answerWith(502, `<html>${ECHO}`, { 'x-echo': ECHO })],
  ['a server that redirects', answerWith(302, ECHO, { location: `https://example.com/?${MARKS.token}` })],
  [
    'AWS that shows what was signed',
    answerWith(
      403,
      { message: `The request signature we calculated … ${ECHO}` },
      { 'x-amzn-errortype': 'InvalidSignatureException' },
    ),
  ],
  ['AWS that names an error by the token', answerWith(400, { __type: MARKS.token, message: ECHO })],
  ['a server whose JSON breaks off', answerWith(200, `{"access_token":"${ECHO}`)],
  ['a server whose members are wrong', answerWith(200, { access_token: [MARKS.token], [MARKS.secret]: ECHO })],
];

/** Runs the command line, and finds no mark in what it says. */
export async function expectSilence(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input?: string,
): Promise<Finished> {
  const shell = { ...ISOLATED, AWS_SESSION_TOKEN: MARKS.sessionToken, ...env };
  const result = await runCommandLine(args, shell, input);
  const { stdout, stderr } = result;
  expect(stdout + stderr).not.toBe('');
  expect(findLeaks({ stdout, stderr }, SPELLING)).toEqual([]);
  return result;
}
