import { startDynamoDB } from '../../bin/local/aws/dynamodb.ts';
import { startSecretsManager } from '../../bin/local/aws/secrets-manager.ts';

// The program of `startStandInProcess`: says where the stand-in listens, and ends with the process that started it.
process.on('disconnect', () => process.exit());
const { url } = process.argv[2] === 'dynamodb' ? await startDynamoDB() : await startSecretsManager();
process.send?.(url);
