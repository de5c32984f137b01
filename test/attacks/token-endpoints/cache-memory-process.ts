import { createTokenFunction } from '../../../functions/token-function.ts';
import { CONTEXT, functionUrlEvent } from '../../support/aws/function-url-events.ts';
import { exampleSettings } from '../../support/example.ts';

// Issues a token of each of 1 500 clients, all tokens and secrets as large as they may be, and tells the most memory
// that the process ever held. DynamoDB has nothing and takes nothing, so that all is kept in memory alone.
const filler = 's'.repeat(60_000);
let tokens = 0;

const { handler } = createTokenFunction({
  environment: 'test',
  tableName: 'pairs',
  settings: exampleSettings({ clients: 'all' }),
  secretsManager: {
    getSecretValue: async ({ SecretId, VersionStage }) => ({
      Name: SecretId,
      VersionId: 'v1',
      VersionStages: [VersionStage],
      SecretString: JSON.stringify({ client_id: SecretId, secret: 'example-passphrase', filler }),
    }),
  },
  dynamodb: { getItem: async () => undefined, updateItem: async () => undefined },
  send: async () => {
    tokens += 1;
    const access_token = '!'.repeat(65_000) + tokens;
    const body = new TextEncoder().encode(JSON.stringify({ access_token, expires_in: 3_600 }));
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  },
  write: () => undefined,
});

let issued = 0;
for (let n = 0; n < 1_500; n += 1) {
  const event = functionUrlEvent({ client: `client-${n}`, service: 'customer-insights' });
  const { statusCode } = await handler(event, CONTEXT);
  if (statusCode === 200) issued += 1;
}
global.gc?.();
const { heapUsed } = process.memoryUsage();
process.send?.({ issued, heapBytes: heapUsed, maxBytes: process.resourceUsage().maxRSS * 1_024 });
