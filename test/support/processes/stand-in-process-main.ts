import { startDynamoDB, startSecretsManager } from './stand-ins.ts';

/** The instances that ask live in times of their own. */
const AGELESS = { ageless: true };

// The program of `startStandInProcess`: says where the stand-in listens, and ends with the process that started it.
process.on('disconnect', () => process.exit());
const { url } = process.argv[2] === 'dynamodb' ? await startDynamoDB(AGELESS) : await startSecretsManager(AGELESS);
process.send?.(url);
