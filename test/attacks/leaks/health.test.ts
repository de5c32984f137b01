import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HttpAnswer } from '../../../local/loopback.ts';
import { findMark } from '../../support/encodings.ts';
import { answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { startHealthFunctionWorld } from '../../unit/functions/health-function-world.ts';
import { echoOf, findLeaks, marksOf, SPELLINGS } from './marks.ts';
import { captureOutput, inspectAll } from './output.ts';

const OWN_KEYS = ['marked+probe/key', 'marked+probe/session', 'marked+health/key', 'marked+billing/key'];

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  const marks = marksOf(spelling);
  const CREDENTIAL = { client_id: marks.clientId, secret: marks.secret, services: 'all' };
  const ECHO = [echoOf(marks), ...OWN_KEYS].join(' ');
  const TOKEN = JSON.stringify({ access_token: marks.token, scope: marks.token });

  const ANSWERS: readonly (readonly [what: string, answer: HttpAnswer])[] = [
    ['a token', { status: 200, body: TOKEN }],
    ['a rejection', { status: 401, headers: { 'www-authenticate': ECHO }, body: ECHO }],
    ['nothing usable', { status: 200, body: JSON.stringify({ [marks.token]: ECHO, [marks.secret]: 1 }) }],
    ['a redirect', { status: 302, headers: { location: `https://example.com/?${ECHO}` }, body: ECHO }],
    ['too many requests', { status: 429, headers: { 'retry-after': ECHO }, body: ECHO }],
  ];

  async function startWorld() {
    const world = await startHealthFunctionWorld();
    const event = world.store('acme', CREDENTIAL);
    const calls = { run: () => world.run(), event: () => world.deliver(event) };
    /** Calls the function, and finds no mark in anything that is written or told. */
    const expectSilence = async (what: keyof typeof calls) => {
      const written = captureOutput();
      // The result of the function, or the error that Lambda would put into its dead letter.
      const outcome = await calls[what]().then(inspectAll, inspectAll);
      const items = await world.items().then(inspectAll, () => '');
      const told = JSON.stringify([world.lines, world.healthLines, world.messages]);
      const texts = { ...written, outcome, items, told };
      expect(findLeaks(texts, spelling)).toEqual([]);
      for (const key of OWN_KEYS) expect(findMark(JSON.stringify(texts), key)).toEqual([]);
      expect(written.unhandled).toBe('');
    };
    return { ...world, expectSilence };
  }

  describe.each(['run', 'event'] as const)('the health function upon a %s', (what) => {
    it.each(ANSWERS)('over a service that answers with %s', async (_, answer) => {
      const { tokenService, expectSilence, healthLines } = await startWorld();
      tokenService.behave(undefined, { answer });
      await expectSilence(what);
      expect(healthLines.length).toBeGreaterThan(0);
    });

    it.each(['SNS', 'STS', 'DYNAMODB', 'SECRETS_MANAGER'])('with a %s that repeats everything', async (service) => {
      const { tokenService, expectSilence } = await startWorld();
      tokenService.behave(undefined, { answer: { status: 401, body: ECHO } });
      const named = { __type: marks.secret, code: marks.clientId, message: ECHO };
      const answer = answerWith(400, named, { 'x-amzn-errortype': marks.clientId });
      const { url, requests, close } = await startLoopbackServer(answer);
      onTestFinished(close);
      // The SDK looks for it at its first call.
      vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, url);
      await expectSilence(what);
      expect(requests.length > 0).toBe(what === 'run' || service !== 'STS');
    });
  });

  const SERVERS = ['sns', 'sts', 'dynamodb', 'secretsManager', 'broker'] as const;
  it.each(spelling === 'odd' ? SERVERS : [])('the health function without %s', async (missing) => {
    const { expectSilence, ...world } = await startWorld();
    await world[missing].close();
    await expectSilence('run');
  });
});
