import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ensurePairTable } from '../../../bin/local/aws/dynamodb.ts';
import { createNotificationTable } from '../../../functions/aws/notifications.ts';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import type { Entry } from '../../../functions/broker/health/evaluate.ts';
import { NotificationFailure, type NotificationMemory } from '../../../functions/broker/health/notify.ts';
import { type CallFault, startFaultyEndpoint } from '../../support/dynamodb.ts';
import { START } from '../../support/example.ts';
import { repeatAtOnce, startDynamoDB } from '../../support/stand-ins.ts';

const REJECTED: Entry = { condition: 'rejected', since: START, at: START + 5, version: 'v1' };

describe('the memory of notifications', () => {
  let server: Awaited<ReturnType<typeof startDynamoDB>>;
  let tables = 0;
  beforeAll(async () => {
    server = await startDynamoDB();
  });
  afterAll(() => server.close());

  it('is empty at first', async () => {
    const { memories, endpoint } = await open();
    expect(await memories.read('customer-insights')).toEqual(EMPTY);
    expect(await memories.read(undefined)).toEqual(EMPTY);
    expect(endpoint.calls).toMatchObject(Array(2).fill({ operation: 'GetItem', parameters: { ConsistentRead: true } }));
  });

  it('gives back what was written', async () => {
    const { memories } = await open();
    const entries = new Map<string, Entry>([
      ['acme/customer-insights', REJECTED],
      ['service', { condition: 'incident', since: 1, at: 2, version: undefined }],
      ['acme/Dienst "für" alle', { condition: 'disabled', since: 1, at: 2, version: undefined }],
    ]);
    const memory = { entries, revision: 1 };
    expect(await memories.write('customer-insights', memory)).toBe(true);
    expect(await memories.read('customer-insights')).toEqual(memory);
    expect(await memories.read('merchant-payment-cleansing')).toEqual(EMPTY);
    expect(await memories.read(undefined)).toEqual(EMPTY);
  });

  it('takes of several successors one, and none of what was read before', async () => {
    const { memories } = await open();
    const writers = [10, 11, 12, 13, 14].map((at) => {
      const entries = new Map<string, Entry>([['service', { condition: 'incident', since: at, at }]]);
      return () => memories.write(undefined, { entries, revision: 1 });
    });
    expect((await Promise.all(writers.map((write) => write()))).filter((isWritten) => isWritten)).toHaveLength(1);
    expect(await memories.write(undefined, { ...EMPTY, revision: 2 })).toBe(true);
    expect(await memories.write(undefined, { ...EMPTY, revision: 2 })).toBe(false);
    expect(await memories.write(undefined, { ...EMPTY, revision: 1 })).toBe(false);
    expect(await memories.write(undefined, { ...EMPTY, revision: 4 })).toBe(false);
    expect((await memories.read(undefined)).revision).toBe(2);
  });

  it('takes a write whose answer was lost for written', async () => {
    const { memories, endpoint } = await open();
    endpoint.failWith('lost-answer', 1);
    expect(await memories.write(undefined, { ...EMPTY, revision: 1 })).toBe(true);
    expect(await memories.write(undefined, { ...EMPTY, revision: 2 })).toBe(true);
  });

  it('lies in items of its own, for 90 days after the last write', async () => {
    const { memories, item } = await open();
    await memories.write('customer-insights', { ...EMPTY, revision: 1 });
    await memories.write(undefined, { ...EMPTY, revision: 1 });
    for (const key of ['notify:customer-insights', 'notify::run']) {
      expect(await item(key)).toMatchObject({
        revision: { N: '1' },
        forgetAt: { N: `${START / 1_000 + 90 * 86_400}` },
      });
    }
  });

  it.each<[string, Item]>([
    ['no JSON', { entries: { S: '[["acme/' }, revision: { N: '3' } }],
    ['other JSON', { entries: { S: '{"acme/customer-insights":"rejected"}' }, revision: { N: '3' } }],
    ['numbers', { entries: { N: '7' }, revision: { N: '3' } }],
    [
      'times that are no times',
      { entries: { S: '[["a/b","rejected",-1,1,null],["a/b","rejected",1,1e300,null]]' }, revision: { N: '3' } },
    ],
    ['what newer code wrote', { entries: { S: '[["a/b","suspicious",1,1,null]]' }, revision: { N: '3' } }],
  ])('is empty and can be written where it holds %s', async (_what, garbage) => {
    const { memories, put } = await open();
    await put('notify::run', garbage);
    expect(await memories.read(undefined)).toEqual({ ...EMPTY, revision: 3 });
    expect(await memories.write(undefined, { ...EMPTY, revision: 4 })).toBe(true);
  });

  it('keeps what can be read beside what cannot', async () => {
    const { memories, put } = await open();
    const rows = [['a/b', 'suspicious', 1, 1, null], ['acme/customer-insights', 'rejected', START, START + 5, 'v1'], 7];
    await put('notify::run', { entries: { S: JSON.stringify(rows) } });
    expect([...(await memories.read(undefined)).entries]).toEqual([['acme/customer-insights', REJECTED]]);
  });

  it('can be written once where the count of its writes is no number', async () => {
    const { memories, put } = await open();
    await put('notify::run', { revision: { S: 'three' } });
    expect((await memories.read(undefined)).revision).toBe(0);
    const writers = [1, 1].map((revision) => () => memories.write(undefined, { ...EMPTY, revision }));
    expect((await Promise.all(writers.map((write) => write()))).toSorted()).toEqual([false, true]);
  });

  it('has room for the most that is ever written', async () => {
    const { memories } = await open();
    const longest = (index: number) => `${'c'.repeat(58)}${10_000 + index}/${'s'.repeat(63)}`;
    const entry: Entry = { condition: 'secret-malformed', since: START, at: START, version: 'v'.repeat(64) };
    const entries = new Map(Array.from({ length: 1_500 }, (_, index) => [longest(index), entry]));
    expect(await memories.write('customer-insights', { entries, revision: 1 })).toBe(true);
  });

  it.each(['access-denied', 'throttled', 'internal-error', 'garbage', 'reset', 'hang', 'stall'] satisfies CallFault[])(
    'fails with one word and no more: %s',
    async (fault) => {
      const { memories, endpoint } = await open(fault === 'hang' || fault === 'stall' ? { timeoutMs: 20 } : {});
      endpoint.failWith(fault);
      const read = () => memories.read(undefined);
      const write = () => memories.write(undefined, { ...EMPTY, revision: 1 });
      for (const call of [read, write]) {
        const error = await call().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(NotificationFailure);
        expect(error).toMatchObject({ message: expect.stringMatching(/^memory-\w+$/) });
        expect(error).not.toHaveProperty('cause');
        expect(String(error)).not.toContain('garbage');
      }
    },
  );

  async function open({ timeoutMs = 10_000 } = {}) {
    repeatAtOnce();
    const endpoint = await startFaultyEndpoint(server.url);
    const dynamodb = new DynamoDBClient({ endpoint: endpoint.url, maxAttempts: 2, ...ACCESS });
    const direct = new DynamoDBClient({ endpoint: server.url, ...ACCESS });
    onTestFinished(async () => {
      dynamodb.destroy();
      direct.destroy();
      await endpoint.close();
    });
    tables += 1;
    const TableName = `memories-${tables}`;
    await ensurePairTable(direct, TableName);
    return {
      endpoint,
      memories: createNotificationTable({ dynamodb, tableName: TableName, now: () => START, timeoutMs }),
      put: (key: string, item: Item) =>
        direct.send(new PutItemCommand({ TableName, Item: { ...item, pair: { S: key } } })),
      item: async (key: string) =>
        (await direct.send(new GetItemCommand({ TableName, Key: { pair: { S: key } } }))).Item,
    };
  }
});

const EMPTY: NotificationMemory = { entries: new Map(), revision: 0 };

const ACCESS = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };
