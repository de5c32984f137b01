import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createSecretsManager } from '../../../functions/aws/secrets-manager.ts';
import type { SendHttp } from '../../../functions/broker/token-request/send-http.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { ACCESS, exampleSettings } from '../example.ts';
import { answerOfAws, type Item, TOKEN_RESPONSE } from './exchange.ts';

/** Creates instances of a fleet and counts their calls. Only the connections to AWS and the service are replaced. */
export function countCalls(write: (line: string) => void = () => undefined) {
  const calls: string[] = [];
  const items = new Map<string, Item>();
  const aws: SendHttp = async ({ headers, body }) => {
    const target = `${headers['x-amz-target']}`;
    calls.push(target.replace(/^.*\./, ''));
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answerOfAws(target, body, items))) };
  };
  const clients = { ...ACCESS, send: aws };
  const startInstance = () =>
    createTokenFunction({
      environment: 'test',
      tableName: 'pairs',
      settings: exampleSettings({ operations: ['token', 'check'] }),
      write,
      secretsManager: createSecretsManager(clients),
      dynamodb: createDynamoDB(clients),
      async send() {
        calls.push('token request');
        const body = Buffer.from(JSON.stringify(TOKEN_RESPONSE));
        return { status: 200, headers: { 'content-type': 'application/json' }, body };
      },
    });
  /** `calls` returns the calls since its last use, sorted, because some calls run in parallel. */
  return { startInstance, calls: () => calls.splice(0).toSorted() };
}
