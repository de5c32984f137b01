import { answerOrders } from './program.ts';
import type { StandInName } from './stand-in-process.ts';
import { startDynamoDB, startSecretsManager } from './stand-ins.ts';

/** The instances that ask live in times of their own. */
const AGELESS = { ageless: true };

// The program of `startStandInProcess`: says where the stand-in listens.
answerOrders<StandInName>(async (which) => {
  const { url } = which === 'dynamodb' ? await startDynamoDB(AGELESS) : await startSecretsManager(AGELESS);
  return url;
});
