import { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Service } from '../../../functions/broker/service.ts';
import type { BrokerSettings } from '../../../functions/environment.ts';
import { issueMadeUpToken, prime } from '../../../functions/prime.ts';
import { captureOutput } from '../../attacks/leak-output.ts';
import { exampleService } from '../../support/example.ts';

afterEach(() => void vi.restoreAllMocks());

const SETTINGS: BrokerSettings = {
  services: { 'customer-insights': exampleService() },
  accessRules: [],
  provenForSeconds: 3_600,
};

describe('priming', () => {
  it('goes the whole way to a new token', async () => {
    const { statusCode, headers } = await issueMadeUpToken(SETTINGS);
    expect({ statusCode, cache: headers['cache-status'] }).toEqual({
      statusCode: 200,
      cache: 'token-broker; fwd=miss',
    });
  });

  it('opens no connection and writes nothing', async () => {
    const connect = vi.spyOn(Socket.prototype, 'connect');
    const { written } = captureOutput();
    await issueMadeUpToken(SETTINGS);
    expect(connect).not.toHaveBeenCalled();
    expect(Object.values(written).join('')).toBe('');
  });

  it.each<[string, Partial<Service>, number]>([
    ['a token elsewhere', { response: { tokenMember: 'data.jwt', lifetimeUnit: 'seconds', passThrough: [] } }, 424],
    ['a malformed URL', { authUrl: 'nowhere' }, 500],
  ])('ends in silence, although it brings no token of a service with %s', async (_, changes, statusCode) => {
    const { written } = captureOutput();
    const settings = { ...SETTINGS, services: { 'customer-insights': exampleService(changes) } };
    expect(await issueMadeUpToken(settings)).toMatchObject({ statusCode });
    expect(Object.values(written).join('')).toBe('');
  });

  it('is made while the first reads are on their way, and ends with them', async () => {
    const { settings, uses } = counted();
    const reads = Promise.withResolvers<void>();
    let isOver = false;
    const primed = prime(reads.promise, settings).then(() => {
      isOver = true;
    });
    await vi.waitUntil(() => uses() > 0);
    expect(isOver).toBe(false);
    reads.resolve();
    await primed;
  });

  it('is not made when there is nothing to wait for', async () => {
    const { settings, uses } = counted();
    await prime(Promise.resolve(), settings);
    expect(uses()).toBe(0);
  });

  it('does not fail the start when it fails', async () => {
    const reads = Promise.withResolvers<void>();
    const settings = { ...SETTINGS, services: BROKEN };
    const primed = prime(reads.promise, settings);
    setImmediate(() => setImmediate(reads.resolve));
    await expect(primed).resolves.toBe(undefined);
    await expect(issueMadeUpToken(settings)).rejects.toThrow('broken');
  });
});

const BROKEN = new Proxy(SETTINGS.services, {
  ownKeys() {
    throw new Error('broken');
  },
});

/** The settings, and how often their services were read. */
function counted() {
  let count = 0;
  const settings = {
    ...SETTINGS,
    get services() {
      count += 1;
      return SETTINGS.services;
    },
  };
  return { settings, uses: () => count };
}
