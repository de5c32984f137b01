import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

const { TABLE = '', AUTH_URL = '', SECRETS_MANAGER_CONNECTIONS } = process.env;
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
  const token = tokens.get(pair) ?? (await requestToken(client, pair));
  tokens.set(pair, token);
  const { requestId } = event.requestContext;
  process.stdout.write(`${JSON.stringify({ requestId, client, service, outcome: 'issued' })}\n`);
  const body = { access_token: token.accessToken, token_type: 'Bearer', expires_in: token.expiresIn };
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

interface Token {
  readonly accessToken: string;
  readonly expiresIn: number;
}

async function requestToken(client: string, pair: string): Promise<Token> {
  const key = { TableName: TABLE, Key: { pair: { S: pair } } };
  const [, credential, sealingKey] = await Promise.all([
    dynamodb.send(new GetItemCommand({ ...key, ConsistentRead: true })),
    readSecret(`token-broker/bench/${client}`),
    readSecret('token-broker-keys/bench/sealing'),
  ]);
  await dynamodb.send(
    new UpdateItemCommand({
      ...key,
      UpdateExpression: 'SET leaseOwner = :owner',
      ConditionExpression: 'attribute_not_exists(leaseOwner)',
      ExpressionAttributeValues: { ':owner': { S: randomBytes(16).toString('hex') } },
    }),
  );
  const { client_id, secret } = JSON.parse(credential);
  const answer = await post(new URL('/auth/v1/token', AUTH_URL), `${client_id}:${secret}`);
  const { access_token: accessToken, expires_in: expiresIn } = JSON.parse(answer);
  await dynamodb.send(
    new UpdateItemCommand({
      ...key,
      UpdateExpression: 'SET sealedToken = :token REMOVE leaseOwner',
      ExpressionAttributeValues: { ':token': { B: seal(sealingKey, accessToken) } },
    }),
  );
  return { accessToken, expiresIn };
}

async function readSecret(SecretId: string): Promise<string> {
  const { SecretString = '' } = await secretsManager.send(new GetSecretValueCommand({ SecretId }));
  return SecretString;
}

function post(url: URL, credential: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Basic ${Buffer.from(credential).toString('base64')}` };
    const outgoing = https.request(url, { method: 'POST', headers, agent }, (incoming) => resolve(text(incoming)));
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function seal(key: string, token: string): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update(key).digest(), randomBytes(12));
  return Buffer.concat([cipher.update(token), cipher.final(), cipher.getAuthTag()]);
}
