import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import https from 'node:https';
import { json } from 'node:stream/consumers';
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

const { AUTH_URL = '', TOKEN_BROKER_TABLE: TableName = '' } = process.env;
const dynamodb = new DynamoDBClient({});
const secretsManager = new SecretsManagerClient({});
const agent = new https.Agent({ keepAlive: true });

type Token = Readonly<Record<'access_token', string>>;

/** Does the same job as the broker with the same calls, but ignores the cold start: reads, leases, requests, publishes. */
export async function handler(event: { readonly body: string }) {
  const { client, service } = JSON.parse(event.body);
  const key = { TableName, Key: { pair: { S: `${client}/${service}` } } };
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
  const token = await requestToken(`Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`);
  const published = {
    UpdateExpression: 'SET sealed = :token REMOVE lease',
    ExpressionAttributeValues: { ':token': { B: seal(sealingKey, token.access_token) } },
  };
  await dynamodb.send(new UpdateItemCommand({ ...key, ...published }));
  process.stdout.write(`${JSON.stringify({ client, service, outcome: 'issued' })}\n`);
  const body = { ...token, token_type: 'Bearer' };
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

async function readSecret(SecretId: string): Promise<string> {
  return (await secretsManager.send(new GetSecretValueCommand({ SecretId }))).SecretString ?? '';
}

function requestToken(authorization: string): Promise<Token> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { authorization }, agent };
    const url = new URL('/auth/v1/token', AUTH_URL);
    const outgoing = https.request(url, options, (incoming) => resolve(json(incoming) as Promise<Token>));
    outgoing.on('error', reject).end();
  });
}

function seal(key: string, token: string): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update(key).digest(), randomBytes(12));
  return Buffer.concat([cipher.update(token), cipher.final(), cipher.getAuthTag()]);
}
