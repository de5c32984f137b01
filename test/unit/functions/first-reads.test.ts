import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { exampleService } from '../../support/example.ts';
import { connectPairTable, TABLE } from '../../support/pair-table.ts';
import { startDynamoDB } from '../../support/stand-ins.ts';

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
let table: Awaited<ReturnType<typeof connectPairTable>>;
beforeAll(async () => {
  dynamodb = await startDynamoDB();
  table = await connectPairTable(dynamodb.url);
});
afterAll(async () => {
  await table.close();
  await dynamodb.close();
});

function functionWith(readSecret: (input: unknown) => Promise<unknown>) {
  const secretsManager = { send: ({ input }: { readonly input: unknown }) => readSecret(input) };
  return createTokenFunction({
    environment: 'test',
    tableName: TABLE,
    settings: { services: { 'customer-insights': exampleService() }, accessRules: [], provenForSeconds: 3_600 },
    secretsManager: secretsManager as unknown as SecretsManagerClient,
    dynamodb: table.through,
    write: () => undefined,
  });
}

it('look into the table, once, and read the sealing key and no client’s secret', async () => {
  const asked: unknown[] = [];
  await functionWith(async (input) => void asked.push(input)).readFirst(10_000);

  expect(asked).toEqual([{ SecretId: 'token-broker-keys/test/sealing', VersionStage: 'AWSCURRENT' }]);
  expect(table.endpoint.calls.map(({ operation }) => operation)).toEqual(['GetItem']);
  expect(table.endpoint.calls[0]?.parameters).toMatchObject({ TableName: TABLE, Key: { pair: { S: 'first-read' } } });
});

it.each(['throttled', 'garbage', 'reset'] as const)('do not fail when DynamoDB does: %s', async (fault) => {
  table.endpoint.failWith(fault);
  await functionWith(() => Promise.reject(new Error('no'))).readFirst(10_000);
  table.endpoint.failWith(undefined);
});

it('do not wait for what does not come', async () => {
  table.endpoint.failWith('hang');
  await functionWith(() => new Promise(() => undefined)).readFirst(20);
  table.endpoint.failWith(undefined);
});
