import { Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Service } from '../../../functions/broker/service.ts';
import { prime } from '../../../functions/prime.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { captureOutput } from '../../attacks/leaks/output.ts';
import { exampleService } from '../../support/example.ts';
import { connectPairTable, TABLE } from '../../support/pair/pair-table.ts';
import { startDynamoDB } from '../../support/processes/stand-ins.ts';

const settingsOf = (changes: Partial<Service> = {}) => ({
  services: { 'customer-insights': exampleService(changes) },
  accessRules: [],
  provenForSeconds: 3_600,
});

describe('the first reads', () => {
  let table: Awaited<ReturnType<typeof connectPairTable>>;
  beforeAll(async () => {
    const dynamodb = await startDynamoDB();
    table = await connectPairTable(dynamodb.url);
    return async () => {
      await table.close();
      await dynamodb.close();
    };
  });
  afterEach(() => table.endpoint.failWith(undefined));

  function functionWith(getSecretValue: (input: unknown) => Promise<Record<string, unknown>>) {
    return createTokenFunction({
      environment: 'test',
      tableName: TABLE,
      settings: settingsOf(),
      secretsManager: { getSecretValue },
      dynamodb: table.through,
      write: () => undefined,
    });
  }

  it('look into the table, once, and read the sealing key and no client’s secret', async () => {
    const asked: unknown[] = [];
    await functionWith(async (input) => ({ nth: asked.push(input) })).readFirst(10_000);
    expect(asked).toEqual([{ SecretId: 'token-broker-keys/test/sealing', VersionStage: 'AWSCURRENT' }]);
    const { calls } = table.endpoint;
    expect(calls).toMatchObject([{ operation: 'GetItem', parameters: { Key: { pair: { S: 'first-read' } } } }]);
  });

  it.each(['throttled', 'reset', 'hang'] as const)(
    'neither fail nor wait when DynamoDB is not there: %s',
    async (fault) => {
      table.endpoint.failWith(fault);
      await functionWith(() => Promise.reject(new Error('no'))).readFirst(fault === 'hang' ? 20 : 10_000);
    },
  );
});

describe('priming', () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each<[string, Partial<Service>, number]>([
    ['is 200, as a miss', {}, 200],
    [
      'is a problem where the token is elsewhere',
      { response: { ...exampleService().response, tokenMember: 'jwt' } },
      424,
    ],
    ['is a failure where the URL is malformed', { authUrl: 'nowhere' }, 500],
  ])(
    'goes the whole way to a token, opens no connection and writes nothing: the answer %s',
    async (_, changes, status) => {
      const connect = vi.spyOn(Socket.prototype, 'connect');
      const written = captureOutput();
      const headers = status === 200 ? { 'cache-status': 'token-broker; fwd=miss' } : {};
      expect(await prime(settingsOf(changes))).toMatchObject({ statusCode: status, headers });
      expect(connect).not.toHaveBeenCalled();
      expect(Object.values(written).join('')).toBe('');
    },
  );
});
