import https from 'node:https';
import { text } from 'node:stream/consumers';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { requestToken, type Token } from './request-token.ts';

const { AUTH_URL = '', SECRETS_MANAGER_CONNECTIONS } = process.env;
const dynamodb = new DynamoDBClient({});
const httpsAgent = { keepAlive: true, maxSockets: Number(SECRETS_MANAGER_CONNECTIONS) };
const secretsManager = new SecretsManagerClient(SECRETS_MANAGER_CONNECTIONS ? { requestHandler: { httpsAgent } } : {});
const agent = new https.Agent({ keepAlive: true });
const tokens = new Map<string, Token>();

/** The same job as the broker's, with the same calls, as it is written without a look at the cold start. */
export async function handler(event: {
  readonly body: string;
  readonly requestContext: { readonly requestId: string };
}) {
  const { client, service } = JSON.parse(event.body);
  const pair = `${client}/${service}`;
  const dependencies = { dynamodb, secretsManager, parseCredential: JSON.parse, post };
  const token = tokens.get(pair) ?? (await requestToken(dependencies, client, pair));
  tokens.set(pair, token);
  const { requestId } = event.requestContext;
  process.stdout.write(`${JSON.stringify({ requestId, client, service, outcome: 'issued' })}\n`);
  const body = { ...token, token_type: 'Bearer' };
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

async function post(authorization: string): Promise<Token> {
  const answer = await new Promise<string>((resolve, reject) => {
    const options = { method: 'POST', headers: { authorization }, agent };
    const outgoing = https.request(new URL('/auth/v1/token', AUTH_URL), options, (incoming) => resolve(text(incoming)));
    outgoing.on('error', reject);
    outgoing.end();
  });
  return JSON.parse(answer);
}
