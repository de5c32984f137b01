import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Item } from '../../../../functions/aws/pair-table/item.ts';
import { createPairAdmin } from '../../../../functions/aws/pair-table/pair-admin.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { pairKey } from '../../../../functions/broker/pair.ts';
import { START } from '../../../support/example.ts';
import { exampleToken, fullRecord, HOLD_KEY, WAIT } from '../../../support/pair/pair-examples.ts';
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
  const admin = createPairAdmin(direct, TABLE, new AbortController().signal, () => START);
  const key = { TableName: TABLE, Key: { pair: { S: pairKey(pair) } } };
  const put = (attributes: Item) => direct.putItem({ TableName: TABLE, Item: { ...attributes, ...key.Key } });
  const read = () => store.read(pair, IN_TIME);
  const write = async (next: PairRecord) => store.replace(pair, await read(), next, IN_TIME);
  return { admin, pair, put, read, write, endpoint };
}

describe('a stop', () => {
  it('asks once to end the stop of a pair without a record', async () => {
    const { admin, pair, endpoint } = await connect();
    await admin.enable(pair);
    expect(endpoint.operations).toEqual(['UpdateItem']);
  });

  it('depends on no item that can be understood', async () => {
    const { admin, pair, put, read } = await connect();
    await put({ lease: { N: '1' }, tag: { BOOL: true }, token: { S: '{' }, rejected: { NULL: true } });
    await admin.disable(pair);
    expect((await read()).record.disabled).toEqual({ since: START });
    await admin.enable(pair);
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
        response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
        response.end('{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}');
      };
    });
    expect([...(await admin.clear(pair)).rejected.keys()]).toEqual(['v1', 'v2']);
    // The time of the pause.
    expect(random).toHaveBeenCalledOnce();
    expect((await read()).record).toMatchObject({ ...EMPTY_RECORD, token: exampleToken() });
  });

  it('writes nothing where nothing is latched, held or paused', async () => {
    const { admin, pair, endpoint } = await connect();
    expect(await admin.clear(pair)).toEqual(EMPTY_RECORD);
    expect(endpoint.operations).not.toContain('UpdateItem');
  });
});
