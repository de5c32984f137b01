import { describe } from 'vitest';
import { StoreUnavailable } from '../../functions/broker/pair/record.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import { motoIsInstalled, startMoto } from '../support/moto.ts';
import { describePairStore, type StoreUnderTest } from '../support/pair-store-contract.ts';
import { connectPairTable } from '../support/pair-table.ts';
import { createReferencePairStore } from '../support/reference-pair-store.ts';
import { startDynamoDB } from '../support/stand-ins.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describePairStore('the store that the rules are tested with', async () => {
  let isLosing = false;
  const lossy = losing(createReferencePairStore(), () => isLosing);
  const loseAnswers = (next: boolean) => {
    isLosing = next;
  };
  return { store: lossy, loseAnswers, close: async () => undefined };
});

describePairStore('the pair table on dynalite', () => onServer(startDynamoDB()));

describe.skipIf(!motoIsInstalled)(`against an independent server${noMoto}`, () => {
  // moto answers from several threads and checks a condition apart from the write that it guards: it is asked in turn.
  describePairStore('the pair table on moto', () => onServer(startMoto()), { isAtomic: false });
});

async function onServer(starting: Promise<{ readonly url: string; readonly close: () => Promise<void> }>) {
  const server = await starting;
  const table = await connectPairTable(server.url);
  return {
    store: table.store,
    loseAnswers: (isLosing) => table.endpoint.failWith(isLosing ? 'lost-answer' : undefined),
    close: async () => {
      await table.close();
      await server.close();
    },
  } satisfies StoreUnderTest;
}

function losing(store: PairStore, isLosing: () => boolean): PairStore {
  const pass = async <Answer>(call: Promise<Answer>): Promise<Answer> => {
    const answer = await call;
    if (isLosing()) throw new StoreUnavailable('The answer was lost');
    return answer;
  };
  return {
    read: (...call) => pass(store.read(...call)),
    acquire: (...call) => pass(store.acquire(...call)),
    end: (...call) => pass(store.end(...call)),
    reject: (...call) => pass(store.reject(...call)),
  };
}
