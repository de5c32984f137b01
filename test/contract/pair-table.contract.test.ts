import { describe } from 'vitest';
import { motoIsInstalled, startMoto } from '../support/moto.ts';
import { describePairStore, type StoreUnderTest } from '../support/pair-store-contract.ts';
import { connectPairTable } from '../support/pair-table.ts';
import { startDynamoDB } from '../support/stand-ins.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

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
