import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDynamoDB } from '../../bin/local/dynamodb.ts';
import { readFirst } from '../../functions/prime.ts';
import { connectPairTable, exampleKey, keysOf, TABLE } from '../support/pair-table.ts';

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

it('looks into the table, once, and reads the sealing key', async () => {
  const { endpoint } = table;
  const asked: string[] = [];
  const keys = { ...keysOf(exampleKey()), current: async () => void asked.push('current') };
  await readFirst({ dynamodb: table.through, tableName: TABLE, keys, now: Date.now, timeoutMs: 10_000 });
  expect(asked).toEqual(['current']);
  expect(endpoint.calls.map(({ operation }) => operation)).toEqual(['GetItem']);
  expect(endpoint.calls[0]?.parameters).toMatchObject({ TableName: TABLE, Key: { pair: { S: 'priming' } } });
});

it.each(['throttled', 'garbage', 'reset'] as const)('does not fail when DynamoDB does: %s', async (fault) => {
  table.endpoint.failWith(fault);
  const keys = { ...keysOf(exampleKey()), current: () => Promise.reject(new Error('no')) };
  await readFirst({ dynamodb: table.through, tableName: TABLE, keys, now: Date.now, timeoutMs: 10_000 });
  table.endpoint.failWith(undefined);
});

it('does not wait for what does not come', async () => {
  table.endpoint.failWith('hang');
  const keys = { ...keysOf(exampleKey()), current: () => new Promise<undefined>(() => undefined) };
  await readFirst({ dynamodb: table.through, tableName: TABLE, keys, now: Date.now, timeoutMs: 20 });
  table.endpoint.failWith(undefined);
});
