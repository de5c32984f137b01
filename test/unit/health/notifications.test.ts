import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import { createProbeCredentials } from '../../../functions/health/ask-broker.ts';
import { createNotificationTable, createNotifier, hasSubscribers } from '../../../functions/health/notifications.ts';
import type { Entry } from '../../../functions/health/rules/evaluate.ts';
import type { Message } from '../../../functions/health/rules/messages.ts';
import { NotificationFailure, type NotificationMemory } from '../../../functions/health/rules/notify.ts';
import { ensurePairTable } from '../../../local/aws/dynamodb.ts';
import { startFaultyEndpoint } from '../../support/aws/faulty-endpoint.ts';
import { ACCESS, START } from '../../support/example.ts';
import { repeatAtOnce, startDynamoDB, startSns, startSts } from '../../support/processes/stand-ins.ts';

const EMPTY: NotificationMemory = { entries: new Map(), revision: 0 };
const REJECTED: Entry = { condition: 'rejected', since: START, at: START + 5, version: 'v1' };

/** A fault, the time limit of the calls that meet it, and the word for it. */
const FAULTS = [
  ['reset', 10_000, 'ECONNRESET'],
  ['hang', 20, 'OutOfTime'],
] as const;

beforeEach(() => repeatAtOnce());

describe('the memory of notifications', () => {
  it('reads back the entries of each service, with the end of a credential and the fault of a secret', async () => {
    const { memories, endpoint } = await open();
    expect(await memories.read('customer-insights')).toEqual(EMPTY);
    expect(endpoint.calls).toMatchObject([{ operation: 'GetItem', parameters: { ConsistentRead: true } }]);
    const entries = new Map<string, Entry>([
      ['acme/customer-insights', REJECTED],
      ['acme/customer-insights/end', { condition: 'ends-within-7-days', since: START, at: START, version: 'v1' }],
      ['globex/customer-insights', { ...REJECTED, condition: 'secret-malformed', detail: 'it is not JSON' }],
      ['acme/Dienst "für" alle', { condition: 'disabled', since: 1, at: 2, version: undefined }],
      ['service', { ...REJECTED, condition: 'incident' }],
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
    ['customer-insights', 'notify:customer-insights', 'service', 'incident'],
    [undefined, 'notify::run', 'broker', 'incident'],
    [undefined, 'notify::run', 'probe', 'not-denied'],
  ] as const)('of %s keeps an open incident of a row that an earlier version stored', async (...stored) => {
    const [service, key, kind, condition] = stored;
    const { memories, put, item } = await open();
    const rows = { S: JSON.stringify([ROW, [kind, condition, START, START + 5, null]]) };
    await put(key, { entries: rows, revision: { N: '3' } });
    const { entries, revision } = await memories.read(service);
    const told = { condition, since: START, at: START + 5 };
    expect(Object.fromEntries(entries)).toEqual({ 'acme/customer-insights': REJECTED, [kind]: told });
    await memories.write(service, { entries, revision: revision + 1 });
    expect((await item(key))?.entries).toEqual(rows);
  });

  const ROW = ['acme/customer-insights', 'rejected', START, START + 5, 'v1'];
  it.each<[string, Item[string], number, [string, Entry][]]>([
    ['[["acme/', { N: '3' }, 3, []],
    ['{"acme/customer-insights":"rejected"}', { N: '3' }, 3, []],
    ['[["a","rejected",1,1,null],["/b","rejected",1,1,null],["a/b/c","rejected",1,1,null]]', { N: '3' }, 3, []],
    ['[["a/b","rejected",-1,1,null],["a/b","rejected",1,9e15,null]]', { N: '3' }, 3, []],
    [JSON.stringify([['a/b', 'odd', 1, 1, null], ROW, 7]), { S: 'three' }, 0, [['acme/customer-insights', REJECTED]]],
  ])('keeps what can be read of %s, and can be written', async (rows, count, revision, kept) => {
    const { memories, put } = await open();
    await put('notify::run', { entries: { S: rows }, revision: count });
    const entries = new Map(kept);
    expect(await memories.read(undefined)).toEqual({ entries, revision });
    expect(await memories.write(undefined, { entries, revision: revision + 1 })).toBe(true);
  });

  it.each(FAULTS)('fails with one word and no more: %s', async (fault, timeoutMs, word) => {
    const { memories, endpoint } = await open(timeoutMs);
    endpoint.failWith(fault);
    await expect(memories.read(undefined)).rejects.toStrictEqual(new NotificationFailure(`memory-${word}`));
    await expect(memories.write(undefined, EMPTY)).rejects.toStrictEqual(new NotificationFailure(`memory-${word}`));
  });

  async function open(timeoutMs = 10_000) {
    const server = await startDynamoDB();
    const endpoint = await startFaultyEndpoint(server.url);
    onTestFinished(() => endpoint.close().then(server.close));
    const dynamodb = new DynamoDBClient({ endpoint: endpoint.url, maxAttempts: 2, ...ACCESS });
    const direct = new DynamoDBClient({ endpoint: server.url, ...ACCESS });
    const TableName = 'memories';
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
  const MESSAGE = { subject: '[token-broker dev] rejected: acme', text: 'Zeile & <Zeile>\n\n  „Ende“ + 100 %\n' };

  it('reaches the topic as it is, also when SNS fails once', async () => {
    const { notify, messages, failWith } = await start();
    failWith('internal-error', 1);
    await notify(MESSAGE);
    expect(messages).toEqual([MESSAGE]);
  });

  it.each(FAULTS)('that SNS does not take is a failure of one word: %s', async (fault, timeoutMs, word) => {
    const { notify, isRead, failWith } = await start(timeoutMs);
    failWith(fault);
    await expect(notify(MESSAGE)).rejects.toStrictEqual(new NotificationFailure(`notifier-${word}`));
    await expect(isRead()).rejects.toStrictEqual(new NotificationFailure(`notifier-${word}`));
  });

  it.each([
    [0, 1, false],
    [1, 1, true],
    // A mail scanner has followed the link of an address.
    [1, 2, false],
    [3, 2, true],
  ])('with %d confirmed subscriptions reaches %d operators: %j', async (subscribers, count, expected) => {
    const { isRead } = await start(10_000, subscribers);
    expect(await isRead(count)).toBe(expected);
  });

  async function start(timeoutMs = 10_000, subscribers = 1) {
    const messages: Message[] = [];
    const standIn = await startSns(TOPIC, messages, subscribers);
    onTestFinished(standIn.close);
    const topic = { sns: new SNSClient({ endpoint: standIn.url, ...ACCESS }), topicArn: TOPIC, timeoutMs };
    return { ...standIn, messages, notify: createNotifier(topic), isRead: (count = 1) => hasSubscribers(count, topic) };
  }
});

describe('the credentials of the probe', () => {
  const KEY = { accessKeyId: 'AKIDPROBE', secretAccessKey: 'probe/secret+key=', sessionToken: 'probe<session>&token' };
  const ROLE = 'arn:aws:iam::111111111111:role/probe';

  it('are those of its role, fresh each time, also when STS fails once', async () => {
    const { read, operations, failWith } = await start();
    expect(await read()).toEqual(KEY);
    failWith('internal-error', 1);
    expect(await read()).toEqual(KEY);
    expect(operations).toEqual(['AssumeRole', 'AssumeRole', 'AssumeRole']);
  });

  it.each(['hang', 'garbage'] as const)('are none, and soon, when STS answers with %s', async (fault) => {
    const { read, failWith } = await start(20);
    failWith(fault);
    await expect(read()).rejects.toThrow();
  });

  async function start(timeoutMs = 10_000) {
    const standIn = await startSts(KEY);
    onTestFinished(standIn.close);
    const sts = new STSClient({ endpoint: standIn.url, ...ACCESS });
    return { ...standIn, read: createProbeCredentials(sts, ROLE, timeoutMs) };
  }
});
