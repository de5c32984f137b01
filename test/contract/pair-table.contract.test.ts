import { type PairStore, StoreUnavailable } from '../../functions/broker/pair/store.ts';
import { START } from '../support/example.ts';
import { createReferencePairStore } from '../support/pair/reference-pair-store.ts';
import { startDynamoDB } from '../support/processes/stand-ins.ts';
import { describePairStore, onServer, type StoreUnderTest } from './pair-store-contract.ts';

describePairStore('the reference store', async () => reference());

describePairStore('the pair table on dynalite', async () => onServer(await startDynamoDB()));

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
