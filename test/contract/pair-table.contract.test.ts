import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, onTestFinished } from 'vitest';
import { type CircuitBreaker, createCircuitBreaker } from '../../functions/aws/pair-table/circuit-breaker.ts';
import { type PairStore, StoreUnavailable } from '../../functions/broker/pair/store.ts';
import { pairKey } from '../../functions/broker/pair.ts';
import { motoIsInstalled, startMoto } from '../support/aws/moto.ts';
import { START } from '../support/example.ts';
import { connectPairTable, TABLE } from '../support/pair/pair-table.ts';
import { createReferencePairStore } from '../support/pair/reference-pair-store.ts';
import { startDynamoDB } from '../support/processes/stand-ins.ts';
import { describePairStore, type StoreUnderTest } from './pair-store-contract.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describePairStore('the reference store', async () => reference());

describePairStore('the pair table on dynalite', () => onServer(startDynamoDB()));

describe.skipIf(!motoIsInstalled)(`against an independent server${noMoto}`, () => {
  // moto answers from several threads and checks a condition apart from the write that it guards: it is asked in turn.
  describePairStore('the pair table on moto', () => onServer(startMoto()), { isAtomic: false });
});

async function onServer(starting: Promise<{ readonly url: string; readonly close: () => Promise<void> }>) {
  const server = await starting;
  // Each call has a circuit of its own: a failure in one test does not open it for the next.
  const breaker: CircuitBreaker = (terms, call) =>
    createCircuitBreaker('UpdateItem', () => START, { timeoutMs: 10_000 })(terms, call);
  const { store, direct, endpoint, close } = await connectPairTable(server.url, { breaker });
  const { signal } = new AbortController();
  return {
    store,
    loseAnswers: (isLosing) => {
      endpoint.failWith(isLosing ? 'lost-answer' : undefined);
      onTestFinished(() => endpoint.failWith(undefined));
    },
    disable: (pair) => store.disable(pair, signal),
    enable: (pair) => store.enable(pair, signal),
    async deleteItem(pair) {
      await direct.send(new DeleteItemCommand({ TableName: TABLE, Key: { pair: { S: pairKey(pair) } } }));
    },
    close: async () => {
      await close();
      await server.close();
    },
  } satisfies StoreUnderTest;
}

function reference(): StoreUnderTest {
  const items = createReferencePairStore();
  let isLosing = false;
  const answered = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const given = await answer;
    if (isLosing) throw new StoreUnavailable('silent', 'lost');
    return given;
  };
  const store: PairStore = {
    read: (...read) => answered(items.read(...read)),
    replace: (...write) => answered(items.replace(...write)),
  };
  return {
    store,
    loseAnswers: (losing) => {
      isLosing = losing;
    },
    disable: async (pair) => items.disable(pair, START),
    enable: async (pair) => items.enable(pair),
    deleteItem: async (pair) => items.restore(pair, undefined),
    close: async () => undefined,
  };
}
