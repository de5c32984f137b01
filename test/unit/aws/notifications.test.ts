import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ensurePairTable } from '../../../bin/local/aws/dynamodb.ts';
import type { PublishedMessage } from '../../../bin/local/aws/sns-sts.ts';
import { createNotificationTable, createNotifier, hasSubscriber } from '../../../functions/aws/notifications.ts';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import { createProbeCredentials } from '../../../functions/aws/probe-credentials.ts';
import type { Entry } from '../../../functions/broker/health/evaluate.ts';
import { NotificationFailure, type NotificationMemory } from '../../../functions/broker/health/notify.ts';
import { type CallFault, startFaultyEndpoint } from '../../support/aws/faulty-endpoint.ts';
import { ACCESS, START } from '../../support/example.ts';
import { repeatAtOnce, startDynamoDB, startSns, startSts } from '../../support/processes/stand-ins.ts';

const EMPTY: NotificationMemory = { entries: new Map(), revision: 0 };
const REJECTED: Entry = { condition: 'rejected', since: START, at: START + 5, version: 'v1' };
const FAULTS = ['access-denied', 'throttled', 'garbage', 'reset', 'hang', 'stall'] as const satisfies CallFault[];

describe('the memory of notifications', () => {
  let server: Awaited<ReturnType<typeof startDynamoDB>>;
  let tables = 0;
  beforeAll(async () => {
    server = await startDynamoDB();
  });
  afterAll(() => server.close());

  it('reads back the entries of each service', async () => {
    const { memories, endpoint } = await open();
    expect(await memories.read('customer-insights')).toEqual(EMPTY);
    expect(endpoint.calls).toMatchObject([{ operation: 'GetItem', parameters: { ConsistentRead: true } }]);
    const entries = new Map<string, Entry>([
      ['acme/customer-insights', REJECTED],
      ['acme/Dienst "für" alle', { condition: 'disabled', since: 1, at: 2, version: undefined }],
    ]);
    expect(await memories.write('customer-insights', { entries, revision: 1 })).toBe(true);
    expect(await memories.read('customer-insights')).toEqual({ entries, revision: 1 });
    for (const other of ['merchant-payment-cleansing', undefined]) expect(await memories.read(other)).toEqual(EMPTY);
  });

  it('accepts one of several successors, and none of an earlier read', async () => {
    const { memories } = await open();
    const write = (revision: number) => memories.write(undefined, { ...EMPTY, revision });
    expect((await Promise.all([1, 1, 1, 1].map(write))).toSorted()).toEqual([false, false, false, true]);
    expect(await write(2)).toBe(true);
    for (const revision of [1, 2, 4]) expect(await write(revision)).toBe(false);
    expect((await memories.read(undefined)).revision).toBe(2);
  });

  it.each([
    ['customer-insights', 'notify:customer-insights'],
    [undefined, 'notify::run'],
  ])('of %s lies in an item of its own, for 90 days after the last write', async (service, key) => {
    const { memories, item } = await open();
    await memories.write(service, { ...EMPTY, revision: 1 });
    expect(await item(key)).toMatchObject({ forgetAt: { N: `${START / 1_000 + 90 * 86_400}` } });
  });

  it.each([
    '[["acme/',
    '{"acme/customer-insights":"rejected"}',
    '[["a/b","rejected",-1,1,null],["a/b","rejected",1,9e15,null]]',
    '[["a/b","suspicious",1,1,null]]',
  ])('is empty and can be written where it holds %s', async (garbage) => {
    const { memories, put } = await open();
    await put('notify::run', { entries: { S: garbage }, revision: { N: '3' } });
    expect(await memories.read(undefined)).toEqual({ ...EMPTY, revision: 3 });
    expect(await memories.write(undefined, { ...EMPTY, revision: 4 })).toBe(true);
  });

  it('keeps readable entries beside unreadable ones, and can be written where its count is no number', async () => {
    const { memories, put } = await open();
    const rows = [['a/b', 'suspicious', 1, 1, null], ['acme/customer-insights', 'rejected', START, START + 5, 'v1'], 7];
    await put('notify::run', { entries: { S: JSON.stringify(rows) }, revision: { S: 'three' } });
    const entries = new Map([['acme/customer-insights', REJECTED]]);
    expect(await memories.read(undefined)).toEqual({ entries, revision: 0 });
    expect(await memories.write(undefined, { entries, revision: 1 })).toBe(true);
  });

  it.each(FAULTS)('fails with one word and no more: %s', async (fault) => {
    const { memories, endpoint } = await open(timeOf(fault));
    endpoint.failWith(fault);
    await expectFailure(memories.read(undefined), 'memory');
    await expectFailure(memories.write(undefined, { ...EMPTY, revision: 1 }), 'memory');
  });

  async function open(timeoutMs = 10_000) {
    repeatAtOnce();
    const endpoint = await startFaultyEndpoint(server.url);
    const dynamodb = new DynamoDBClient({ endpoint: endpoint.url, maxAttempts: 2, ...ACCESS });
    const direct = new DynamoDBClient({ endpoint: server.url, ...ACCESS });
    onTestFinished(endpoint.close);
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

describe('a message to the operators', () => {
  const TOPIC = 'arn:aws:sns:us-east-1:111111111111:token-broker-dev';
  const MESSAGE = { subject: '[token-broker dev] rejected: acme', text: 'Zeile 1 & <Zeile> 2\n\n  „Ende“ + 100 %\n' };

  it('reaches the topic as it is, also when SNS fails once', async () => {
    const { notify, messages, failWith } = await start();
    failWith('internal-error', 1);
    await notify(MESSAGE);
    expect(messages).toEqual([MESSAGE]);
  });

  it.each(FAULTS)('that SNS does not take is a failure of one word: %s', async (fault) => {
    const { notify, messages, failWith, sns } = await start(timeOf(fault));
    failWith(fault);
    await expectFailure(notify(MESSAGE), 'notifier');
    await expectFailure(hasSubscriber({ sns, topicArn: TOPIC, timeoutMs: 20 }), 'notifier');
    expect(messages).toEqual([]);
  });

  it.each([
    [0, false],
    [2, true],
  ])('with %d confirmed subscriptions reaches an operator: %j', async (subscribers, expected) => {
    const { sns } = await start(10_000, subscribers);
    expect(await hasSubscriber({ sns, topicArn: TOPIC })).toBe(expected);
  });

  async function start(timeoutMs = 10_000, subscribers = 1) {
    repeatAtOnce();
    const messages: PublishedMessage[] = [];
    const standIn = await startSns({ topicArn: TOPIC, onMessage: (message) => messages.push(message), subscribers });
    onTestFinished(standIn.close);
    const sns = new SNSClient({ endpoint: standIn.url, ...ACCESS });
    return { ...standIn, sns, messages, notify: createNotifier({ sns, topicArn: TOPIC, timeoutMs }) };
  }
});

describe('the credentials of the probe', () => {
  const KEY = { accessKeyId: 'AKIDPROBE', secretAccessKey: 'probe/secret+key=', sessionToken: 'probe<session>&token' };
  const ROLE = 'arn:aws:iam::111111111111:role/probe';

  it('are those of its role, fresh each time, also when STS fails once', async () => {
    const { read, calls, failWith } = await start();
    expect(await read()).toEqual(KEY);
    failWith('internal-error', 1);
    expect(await read()).toEqual(KEY);
    expect(calls).toEqual(['AssumeRole', 'AssumeRole', 'AssumeRole']);
  });

  it.each(['hang', 'garbage'] as const)('are none, and soon, when STS answers with %s', async (fault) => {
    const { read, failWith } = await start(ROLE, 20);
    failWith(fault);
    await expect(read()).rejects.toThrow();
  });

  async function start(roleArn = ROLE, timeoutMs = 10_000) {
    repeatAtOnce();
    const standIn = await startSts({ roles: [{ role: ROLE, ...KEY }] });
    onTestFinished(standIn.close);
    const sts = new STSClient({ endpoint: standIn.url, ...ACCESS });
    return { ...standIn, read: createProbeCredentials(sts, roleArn, timeoutMs) };
  }
});

/** Short for a fault that only the time limit ends. */
function timeOf(fault: CallFault): number | undefined {
  return fault === 'hang' || fault === 'stall' ? 20 : undefined;
}

async function expectFailure(call: Promise<unknown>, of: string): Promise<void> {
  const error = await call.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NotificationFailure);
  expect(error).toMatchObject({ message: expect.stringMatching(`^${of}-\\w+$`) });
  expect(error).not.toHaveProperty('cause');
  expect(String(error)).not.toContain('garbage');
}
