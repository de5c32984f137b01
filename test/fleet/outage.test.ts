import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CallFault, startFaultyEndpoint } from '../support/dynamodb.ts';
import type { EnvironmentProcess } from '../support/environment-process.ts';
import { ask, type Fleet, OTHER_SERVICE, print, startFleet } from './fleet.ts';

/** Far above every budget of time, far below what any of the faults would take by itself. */
const PATIENCE_MS = 3_000;
const SLOWNESS = 3;
/** Longer than memory is trusted. */
const MEMORY_MS = 61_000;
/** Longer than a secret is trusted. */
const SECRET_MS = 301_000;
/** How long the circuit stays open after failures of the store. */
const OPEN_MS = 10_000;

const DOWN = ['stopped', 'hang', 'throttled', 'garbage', 'internal-error'] as const;
const KEY_REFUSED = ['key-denied', 'key-disabled', 'decryption-failure'] as const;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    clients: ['acme', 'globex', 'hooli', 'initech', ...DOWN, ...KEY_REFUSED],
    slowness: SLOWNESS,
  });
});
afterAll(() => fleet.close());

describe.each(['stopped', 'hang', 'throttled', 'garbage', 'access-denied', 'key-denied', 'key-disabled'] as const)(
  'while DynamoDB fails by "%s"',
  (fault) => {
    it('tokens are issued all the same, in time, and the log says so', async () => {
      const { process, fail } = await startBehind('AWS_ENDPOINT_URL_DYNAMODB', fleet.dynamodb.url);
      await ask(process, 1, { client: 'acme' });
      await process.order({ advanceMs: MEMORY_MS });
      await fail(fault);

      const warm = await ask(process, 1, { client: 'acme' });
      expect(warm).toMatchObject({ status: 200, audit: { cache: 'memory', warnings: ['shared-cache-unavailable'] } });
      const other = await ask(process, 1, { client: 'globex' });
      expect(other).toMatchObject({ status: 200, audit: { cache: 'none', warnings: ['shared-cache-unavailable'] } });
      const cold = await ask(process, 2, { client: 'acme' });
      expect(cold).toMatchObject({ status: 200, audit: { cache: 'none', warnings: ['shared-cache-unavailable'] } });
      const again = await ask(process, 2, { client: 'acme' });
      // What was decided alone is not trusted without another look at the table.
      expect(again).toMatchObject({ status: 200, audit: { cache: 'memory', warnings: ['shared-cache-unavailable'] } });

      const waits = [warm, other, cold, again].map(({ waitMs }) => Math.round(waitMs));
      print(`DynamoDB ${fault}: warm, other pair, cold, again: ${waits.join(', ')} ms`);
      expect(Math.max(...waits)).toBeLessThan(PATIENCE_MS);
    });
  },
);

it('DynamoDB is used again once it is back', async () => {
  const { process, fail } = await startBehind('AWS_ENDPOINT_URL_DYNAMODB', fleet.dynamodb.url);
  await ask(process, 1, { client: 'acme' });
  await fail('throttled');
  for (const round of [1, 2, 3, 4]) {
    const { audit } = await ask(process, 1, { client: 'acme' });
    await process.order({ advanceMs: round === 4 ? 0 : MEMORY_MS });
    expect(audit.cache).toBe('memory');
  }
  await fail(undefined);
  await process.order({ advanceMs: MEMORY_MS + OPEN_MS });
  expect(await ask(process, 1, { client: 'acme' })).toMatchObject({
    status: 200,
    audit: { cache: 'shared', warnings: [] },
  });
});

describe.each([...DOWN, ...KEY_REFUSED])('while Secrets Manager is down by "%s"', (fault) => {
  it('a living token needs no credential, a known one serves and the log says so, an unknown one is a 503', async () => {
    const { process, fail } = await startBehind('AWS_ENDPOINT_URL_SECRETS_MANAGER', fleet.secretsManager.url);
    // A client of its own, so that this process requests the first token and knows the credential.
    await ask(process, 1, { client: fault });
    await process.order({ advanceMs: SECRET_MS });
    await fail(fault);

    const living = await ask(process, 1, { client: fault });
    expect(living).toMatchObject({ status: 200, audit: { TokenRequests: 0, warnings: [] } });
    const known = await ask(process, 1, { client: fault, service: OTHER_SERVICE });
    expect(known).toMatchObject({ status: 200, audit: { TokenRequests: 1, warnings: ['secret-stale'] } });
    const unknown = await ask(process, 2, { client: 'globex' });
    expect(unknown).toMatchObject({ status: 503, body: { type: expect.stringContaining('secrets-unavailable') } });
    expect(Number(unknown.headers['retry-after'])).toBeGreaterThanOrEqual(1);

    const waits = [living, known, unknown].map(({ waitMs }) => Math.round(waitMs));
    print(`Secrets Manager ${fault}: living token, known credential, unknown: ${waits.join(', ')} ms`);
    expect(Math.max(...waits)).toBeLessThan(PATIENCE_MS);
  });
});

it('no token is requested once the broker may not read a credential; a living one in the table is issued', async () => {
  const { process, fail } = await startBehind('AWS_ENDPOINT_URL_SECRETS_MANAGER', fleet.secretsManager.url);
  await ask(process, 1, { client: 'initech' });
  await fail('access-denied');
  await process.order({ advanceMs: SECRET_MS });
  expect(await ask(process, 1, { client: 'initech' })).toMatchObject({ status: 200, audit: { TokenRequests: 0 } });

  const answer = await ask(process, 1, { client: 'initech', service: OTHER_SERVICE });
  expect(answer).toMatchObject({ status: 503, body: { type: expect.stringContaining('secrets-unavailable') } });
  expect(answer.waitMs).toBeLessThan(PATIENCE_MS);
});

it('while both hang, a token in memory is issued, in time', async () => {
  const table = await startFaultyEndpoint(fleet.dynamodb.url);
  const secrets = await startFaultyEndpoint(fleet.secretsManager.url);
  onTestFinished(async () => {
    await Promise.all([table.close(), secrets.close()]);
  });
  const process = fleet.startProcess({
    AWS_ENDPOINT_URL_DYNAMODB: table.url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
  });
  const { body } = await ask(process, 1, { client: 'hooli' });
  table.failWith('hang');
  secrets.failWith('hang');
  await process.order({ advanceMs: SECRET_MS });

  const answer = await ask(process, 1, { client: 'hooli' });
  print(`both hang: ${Math.round(answer.waitMs)} ms`);
  expect(answer).toMatchObject({ status: 200, audit: { cache: 'memory' }, body: { access_token: body.access_token } });
  expect(new Set(answer.audit.warnings)).toEqual(new Set(['shared-cache-unavailable', 'secret-stale']));
  expect(answer.waitMs).toBeLessThan(PATIENCE_MS);
});

/** A process that reaches one of the two only through an endpoint that can be made to fail. */
async function startBehind(
  variable: 'AWS_ENDPOINT_URL_DYNAMODB' | 'AWS_ENDPOINT_URL_SECRETS_MANAGER',
  target: string,
): Promise<{
  readonly process: EnvironmentProcess;
  readonly fail: (fault: CallFault | 'stopped' | undefined) => Promise<void>;
}> {
  const endpoint = await startFaultyEndpoint(target);
  const process = fleet.startProcess({ [variable]: endpoint.url });
  onTestFinished(async () => {
    await process.kill();
    await endpoint.close();
  });
  const fail = async (fault: CallFault | 'stopped' | undefined) => {
    if (fault === 'stopped') await endpoint.close();
    else endpoint.failWith(fault);
  };
  return { process, fail };
}
