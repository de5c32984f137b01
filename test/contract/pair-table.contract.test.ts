import { describe, onTestFinished } from 'vitest';
import { type CircuitBreaker, createCircuitBreaker } from '../../functions/aws/calls.ts';
import { motoIsInstalled, startMoto } from '../support/aws/moto.ts';
import { START } from '../support/example.ts';
import { describePairStore, type StoreUnderTest } from '../support/pair/pair-store-contract.ts';
import { connectPairTable } from '../support/pair/pair-table.ts';
import { startDynamoDB } from '../support/processes/stand-ins.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describePairStore('the pair table on dynalite', () => onServer(startDynamoDB()));

describe.skipIf(!motoIsInstalled)(`against an independent server${noMoto}`, () => {
  // moto answers from several threads and checks a condition apart from the write that it guards: it is asked in turn.
  describePairStore('the pair table on moto', () => onServer(startMoto()), { isAtomic: false });
});

async function onServer(starting: Promise<{ readonly url: string; readonly close: () => Promise<void> }>) {
  const server = await starting;
  // Each call has a circuit of its own: a failure in one test does not open it for the next.
  const breaker: CircuitBreaker = (terms, call) => createCircuitBreaker(() => START, 0, 10_000)(terms, call);
  const table = await connectPairTable(server.url, { breaker });
  return {
    store: table.store,
    loseAnswers: (isLosing) => {
      table.endpoint.failWith(isLosing ? 'lost-answer' : undefined);
      onTestFinished(() => table.endpoint.failWith(undefined));
    },
    close: async () => {
      await table.close();
      await server.close();
    },
  } satisfies StoreUnderTest;
}
