import { createTables } from '../../../local/aws/dynamodb.ts';
import { createSecrets } from '../../../local/aws/secrets-manager.ts';
import { serveAws } from '../../../local/aws/server.ts';
import { answerOrders } from './program.ts';
import { EXAMPLE_KEY } from './stand-ins.ts';

// Says where the stand-ins of AWS listen. The instances that ask live in times of their own.
answerOrders(async () => {
  const { url } = await serveAws([createTables(), createSecrets()], { keys: [EXAMPLE_KEY], ageless: true });
  return url;
});
