import { describe, expect, it } from 'vitest';
import type { TokenServiceAnswer } from '../../bin/local/token-service/answer.ts';
import { findMark } from '../support/encodings.ts';
import { CREDENTIALS, startHealthFunctionWorld } from '../unit/functions/health-function-world.ts';
import { captureOutput, inspectAll } from './leak-output.ts';

const TOKEN = 'marked.token~with+odd/characters==';
const MARKS = [
  TOKEN,
  ...[CREDENTIALS.acme, CREDENTIALS.wrong].flatMap(({ client_id, secret }) => [secret, btoa(`${client_id}:${secret}`)]),
  ...['marked+probe/key', 'marked+probe/session', 'marked+health/key', 'marked+billing/key'],
];
const ECHO = MARKS.join(' ');

const ANSWERS: readonly (readonly [what: string, answer: TokenServiceAnswer])[] = [
  ['a token', { status: 200, body: JSON.stringify({ access_token: TOKEN, scope: TOKEN }) }],
  ['a rejection', { status: 401, headers: { 'www-authenticate': ECHO }, body: ECHO }],
  ['nothing usable', { status: 200, body: JSON.stringify({ [TOKEN]: ECHO }) }],
  ['a redirect', { status: 302, headers: { location: `https://example.com/?${ECHO}` }, body: ECHO }],
  ['too many requests', { status: 429, headers: { 'retry-after': ECHO }, body: ECHO }],
  ['a failure', { status: 500, headers: { 'x-echo': ECHO }, body: ECHO }],
];

/** What a call of a function returns, or what Lambda would put into its dead letter. */
async function outcomeOf(call: () => Promise<unknown>): Promise<string> {
  try {
    return inspectAll(await call());
  } catch (error) {
    return inspectAll(error);
  }
}

function expectSilence(texts: Readonly<Record<string, string>>): void {
  for (const [place, text] of Object.entries(texts)) {
    for (const mark of MARKS) expect({ place, mark, found: findMark(text, mark) }).toEqual({ place, mark, found: [] });
  }
}

describe('a health run', () => {
  it.each(ANSWERS)('over a service that answers with %s', async (_, answer) => {
    const world = await startHealthFunctionWorld();
    await world.store('acme', CREDENTIALS.acme);
    world.tokenService.respondWith(undefined, answer);
    const { written, unhandled } = captureOutput();
    const outcome = await outcomeOf(() => world.run());
    expect(world.healthLines.length).toBeGreaterThan(1);
    expectSilence({
      ...written,
      outcome,
      lines: [...world.lines, ...world.healthLines].join(),
      messages: JSON.stringify(world.messages),
      items: inspectAll(await world.items()),
    });
    expect(unhandled()).toBe(0);
  });

  it.each(['sns', 'sts', 'dynamodb', 'secretsManager', 'broker'] as const)('without %s', async (missing) => {
    const world = await startHealthFunctionWorld();
    await world.store('acme', CREDENTIALS.wrong);
    await world[missing].close();
    const { written, unhandled } = captureOutput();
    const outcome = await outcomeOf(() => world.run());
    expectSilence({
      ...written,
      outcome,
      lines: [...world.lines, ...world.healthLines].join(),
      messages: JSON.stringify(world.messages),
    });
    expect(unhandled()).toBe(0);
  });
});

describe('the event of a new version', () => {
  it.each(ANSWERS)('to a credential of a service that answers with %s', async (_, answer) => {
    const world = await startHealthFunctionWorld();
    const event = await world.store('acme', CREDENTIALS.acme);
    world.tokenService.respondWith(undefined, answer);
    const { written, unhandled } = captureOutput();
    const outcome = await outcomeOf(() => world.deliver(event));
    expect(world.checks.length).toBeGreaterThan(0);
    expectSilence({
      ...written,
      outcome,
      lines: [...world.lines, ...world.healthLines].join(),
      messages: JSON.stringify(world.messages),
    });
    expect(unhandled()).toBe(0);
  });

  it.each(['sns', 'broker'] as const)('without %s', async (missing) => {
    const world = await startHealthFunctionWorld();
    const event = await world.store('acme', CREDENTIALS.wrong);
    await world[missing].close();
    const { written, unhandled } = captureOutput();
    const outcome = await outcomeOf(() => world.deliver(event));
    expectSilence({
      ...written,
      outcome,
      lines: [...world.lines, ...world.healthLines].join(),
      messages: JSON.stringify(world.messages),
    });
    expect(unhandled()).toBe(0);
  });
});
