import { describe, expect, it } from 'vitest';
import type { HttpAnswer } from '../../bin/local/loopback.ts';
import { findMark } from '../support/encodings.ts';
import { startHealthFunctionWorld } from '../unit/functions/health-function-world.ts';
import { echoOf, findLeaks, marksOf, SPELLINGS } from './leak-marks.ts';
import { captureOutput, inspectAll } from './leak-output.ts';

const OWN_KEYS = ['marked+probe/key', 'marked+probe/session', 'marked+health/key', 'marked+billing/key'];

/** What a call of a function returns, or what Lambda would put into its dead letter. */
async function outcomeOf(call: () => Promise<unknown>): Promise<string> {
  return call().then(inspectAll, inspectAll);
}

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  const marks = marksOf(spelling);
  const CREDENTIAL = { client_id: marks.clientId, secret: marks.secret };
  const ECHO = [echoOf(marks), ...OWN_KEYS].join(' ');
  const TOKEN = JSON.stringify({ access_token: marks.token, scope: marks.token });

  const ANSWERS: readonly (readonly [what: string, answer: HttpAnswer])[] = [
    ['a token', { status: 200, body: TOKEN }],
    ['a rejection', { status: 401, headers: { 'www-authenticate': ECHO }, body: ECHO }],
    ['nothing usable', { status: 200, body: JSON.stringify({ [marks.token]: ECHO, [marks.secret]: 1 }) }],
    ['a redirect', { status: 302, headers: { location: `https://example.com/?${ECHO}` }, body: ECHO }],
    ['too many requests', { status: 429, headers: { 'retry-after': ECHO }, body: ECHO }],
  ];

  /** Calls a function, and finds no mark in anything that is written or told. */
  async function expectSilence(call: () => Promise<unknown>, said: () => Promise<readonly unknown[]>): Promise<void> {
    const { written, unhandled } = captureOutput();
    const outcome = await outcomeOf(call);
    const texts = { ...written, outcome, said: JSON.stringify(await said()) };
    expect(findLeaks(texts, spelling)).toEqual([]);
    for (const key of OWN_KEYS) expect(findMark(JSON.stringify(texts), key)).toEqual([]);
    expect(unhandled()).toBe(0);
  }

  async function startHealth() {
    const world = await startHealthFunctionWorld();
    await world.store('acme', CREDENTIAL);
    return { ...world, said: () => [world.lines, world.healthLines, world.messages] };
  }

  describe('a health run', () => {
    it.each(ANSWERS)('over a service that answers with %s', async (_, answer) => {
      const world = await startHealth();
      world.tokenService.respondWith(undefined, answer);
      await expectSilence(world.run, async () => [...world.said(), inspectAll(await world.items())]);
      expect(world.healthLines.length).toBeGreaterThan(1);
    });

    it.each(['sns', 'sts', 'dynamodb', 'secretsManager', 'broker'] as const)('without %s', async (missing) => {
      const world = await startHealth();
      await world[missing].close();
      await expectSilence(world.run, async () => world.said());
    });
  });

  describe('the event of a new version', () => {
    it.each(ANSWERS)('of a credential to which a service answers with %s', async (_, answer) => {
      const world = await startHealthFunctionWorld();
      const event = await world.store('acme', CREDENTIAL);
      world.tokenService.respondWith(undefined, answer);
      await expectSilence(
        () => world.deliver(event),
        async () => [world.lines, world.healthLines, world.messages],
      );
      expect(world.checks.length).toBeGreaterThan(0);
    });

    it.each(['sns', 'broker'] as const)('without %s', async (missing) => {
      const world = await startHealthFunctionWorld();
      const event = await world.store('acme', CREDENTIAL);
      await world[missing].close();
      await expectSilence(
        () => world.deliver(event),
        async () => [world.lines, world.healthLines, world.messages],
      );
    });
  });
});
