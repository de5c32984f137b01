import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Item } from '../../../../functions/aws/pair-table/item.ts';
import { createPairAdmin } from '../../../../functions/aws/pair-table/pair-admin.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { settled } from '../../../../functions/broker/pair/transitions.ts';
import { pairKey } from '../../../../functions/broker/pair.ts';
import { START } from '../../../support/example.ts';
import { exampleRequest, exampleToken, fullRecord, HOLD_KEY, WAIT } from '../../../support/pair/pair-examples.ts';
import { connectPairTable, IN_TIME, TABLE } from '../../../support/pair/pair-table.ts';
import { EXAMPLE_KEY, startDynamoDB } from '../../../support/processes/stand-ins.ts';

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

let pairs = 0;

/** A pair as an operator reaches it, without the sealing key, and as the broker does. */
async function connect() {
  const pair = { client: `client-${++pairs}`, service: 'customer-insights' };
  const { store, endpoint, close } = await connectPairTable(dynamodb.url);
  onTestFinished(close);
  const direct = new DynamoDB({ endpoint: endpoint.url, region: 'us-east-1', credentials: EXAMPLE_KEY });
  onTestFinished(() => direct.destroy());
  const interrupt = new AbortController();
  const admin = createPairAdmin(direct, TABLE, interrupt.signal, () => START);
  const key = { TableName: TABLE, Key: { pair: { S: pairKey(pair) } } };
  const put = (attributes: Item) => direct.putItem({ TableName: TABLE, Item: { ...attributes, ...key.Key } });
  const read = () => store.read(pair, IN_TIME);
  const write = async (next: PairRecord) => store.replace(pair, await read(), next, IN_TIME);
  return { admin, pair, put, read, write, endpoint, direct, interrupt };
}

const noWait = () => expect.fail('waited');

describe('a stop', () => {
  it('that was never set is not ended: the token of the pair stays', async () => {
    const { admin, pair, read, write, endpoint } = await connect();
    await write(fullRecord());
    await admin.enable(pair, noWait);
    expect((await read()).record).toMatchObject(fullRecord());
    expect(endpoint.operations.filter((operation) => operation === 'UpdateItem')).toHaveLength(1);
  });

  it('ends together with the token, after the lease from before it', async () => {
    const { admin, pair, read, write, endpoint } = await connect();
    const holder = await write({ ...fullRecord(), lease: { id: 'a', until: START + 1 } });
    await admin.disable(pair);
    const writes = () => endpoint.operations.filter((operation) => operation === 'UpdateItem').length;
    const waits: number[][] = [];
    await admin.enable(pair, (ms) => waits.push([ms, writes()]));
    expect([...waits, writes()]).toEqual([[1, 2], 3]);
    const { record } = await read();
    expect(record).toEqual({ ...fullRecord(), lease: undefined, token: undefined, disabled: undefined });
    // A holder that was frozen is too late.
    const request = exampleRequest({ lease: { id: 'a', until: START + 1 } });
    const outcome = { kind: 'accepted', at: START, token: exampleToken() } as const;
    expect(settled(holder?.record ?? EMPTY_RECORD, request, outcome).token).toBeDefined();
    expect(settled(record, request, outcome)).toBe(record);
  });

  it('waits for the lease of a wrong clock no longer than a lease lasts, unless the operator interrupts the wait', async () => {
    const { admin, pair, write, direct, interrupt } = await connect();
    await write({ ...EMPTY_RECORD, lease: { id: 'a', until: START + 30_000 } });
    await admin.disable(pair);
    const update = vi.spyOn(direct, 'updateItem');
    const enabling = admin.enable(pair, (ms) => {
      expect(ms).toBe(6_000);
      interrupt.abort();
    });
    await expect(enabling).rejects.toMatchObject({ name: 'AbortError' });
    expect(update).not.toHaveBeenCalled();
  });

  it('is ended once when the answer is lost: the repetition finds it ended', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => random.mockRestore());
    const { admin, pair, read, endpoint } = await connect();
    await admin.disable(pair);
    let isLost = false;
    endpoint.failWhere(({ operation }) => {
      if (operation !== 'UpdateItem' || isLost) return undefined;
      isLost = true;
      return 'lost-answer';
    });
    await admin.enable(pair, noWait);
    expect((await read()).record.disabled).toBeUndefined();
  });

  it('that another operator ends first keeps the token that has come since', async () => {
    const { admin, pair, read, write, direct } = await connect();
    await admin.disable(pair);
    vi.spyOn(direct, 'updateItem').mockImplementationOnce(async (input) => {
      await admin.enable(pair, noWait);
      await write({ ...EMPTY_RECORD, token: exampleToken() });
      return direct.updateItem(input);
    });
    await admin.enable(pair, noWait);
    expect((await read()).record.token).toEqual(exampleToken());
  });

  it('is set without a read that fails, and is not ended by a write that AWS refuses', async () => {
    const { admin, pair, read, endpoint } = await connect();
    endpoint.failWhere(({ operation }) => (operation === 'GetItem' ? 'access-denied' : undefined));
    expect(await admin.disable(pair)).toBeUndefined();
    endpoint.failWhere(({ operation }) => (operation === 'UpdateItem' ? 'access-denied' : undefined));
    await expect(admin.enable(pair, noWait)).rejects.toMatchObject({ name: 'AccessDeniedException' });
    expect((await read()).record.disabled).toEqual({ since: START });
  });

  it('depends on no item that can be understood', async () => {
    const { admin, pair, put, read } = await connect();
    await put({ lease: { N: '1' }, tag: { BOOL: true }, token: { S: '{' }, rejected: { NULL: true } });
    await admin.disable(pair);
    expect((await read()).record.disabled).toEqual({ since: START });
    await admin.enable(pair, noWait);
    expect((await read()).record).toEqual(EMPTY_RECORD);
  });
});

describe('clearing latches, holds and pauses', () => {
  it('reports what stood in the way, and touches nothing else: token, lease and stop stay', async () => {
    const { admin, pair, read, write } = await connect();
    await write(fullRecord());
    await admin.disable(pair);
    const { rejected, held, pause } = await admin.clear(pair);
    const inTheWay = ['v1', 'v2', HOLD_KEY, 'v1:other-settings', START + 5];
    expect([...rejected.keys(), ...held.keys(), pause?.until]).toEqual(inTheWay);
    const cleared = { rejected: new Map(), held: new Map(), pause: undefined };
    expect((await read()).record).toMatchObject({ ...fullRecord(), ...cleared, disabled: { since: START } });
  });

  it('waits after a lost race, clears what the other write has put there, and loses none of it', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => random.mockRestore());
    const { admin, pair, read, write, endpoint } = await connect();
    await write({ ...EMPTY_RECORD, pause: WAIT });
    let isFirst = true;
    endpoint.failWhere(({ operation }) => {
      if (operation !== 'UpdateItem' || !isFirst) return undefined;
      isFirst = false;
      return async (response) => {
        await write({ ...EMPTY_RECORD, pause: WAIT, token: exampleToken(), rejected: fullRecord().rejected });
        random.mockClear();
        response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
        response.end('{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}');
      };
    });
    expect([...(await admin.clear(pair)).rejected.keys()]).toEqual(['v1', 'v2']);
    // The time of the pause.
    expect(random).toHaveBeenCalledOnce();
    expect((await read()).record).toMatchObject({ ...EMPTY_RECORD, token: exampleToken() });
  });

  it('keeps latches when it is asked to, and writes nothing where nothing else is in the way', async () => {
    const { admin, pair, read, write, endpoint } = await connect();
    const writes = () => endpoint.operations.filter((operation) => operation === 'UpdateItem').length;
    expect([await admin.clear(pair), writes()]).toEqual([EMPTY_RECORD, 0]);
    await write(fullRecord());
    for (const _ of ['clears', 'has nothing to clear']) await admin.clear(pair, true);
    const { rejected } = fullRecord();
    expect((await read()).record).toMatchObject({ rejected, held: new Map(), pause: undefined });
    expect(writes()).toBe(2);
  });
});
