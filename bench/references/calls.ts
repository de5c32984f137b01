import { createDynamoDB } from '../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../functions/aws/https/sender.ts';
import { createSecretsManager } from '../../functions/aws/secrets-manager.ts';

const { AUTH_URL = '', TOKEN_BROKER_TABLE: TableName = '' } = process.env;
const send = createHttpsSender();
const aws = createHttpsSender({ keepAlive: true });
const dynamodb = createDynamoDB({ send: aws, environment: 'dev' });
const secretsManager = createSecretsManager({ send: aws, environment: 'dev' });
const { signal } = new AbortController();

// The reads of the broker's init phase.
await Promise.all([readSecret('sealing'), read('first-read')]);

/** Sends the broker's calls for a first token over its connections, without its rules. */
export async function handler(event: { readonly body: string }) {
  const { client, service } = JSON.parse(event.body);
  const pair = `${client}/${service}`;
  await read(pair);
  const credential = JSON.parse(`${(await readSecret(client)).SecretString}`);
  await update(pair, 'lease', 'this-call');
  const basic = Buffer.from(`${credential.client_id}:${credential.secret}`).toString('base64');
  const url = new URL('/auth/v1/token', AUTH_URL);
  const headers = { authorization: `Basic ${basic}`, 'content-length': '0' };
  const answer = await send({ method: 'POST', url, headers, body: '' }, { timeoutMs: 4_000, maxBodyBytes: 65_536 });
  const token = JSON.parse(Buffer.from(answer.body).toString());
  await update(pair, 'token', token.access_token);
  process.stdout.write(`${JSON.stringify({ client, service, outcome: 'issued' })}\n`);
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(token) };
}

function read(pair: string) {
  return dynamodb.getItem({ TableName, Key: { pair: { S: pair } }, ConsistentRead: true }, signal);
}

function readSecret(SecretId: string) {
  return secretsManager.getSecretValue({ SecretId, VersionStage: 'AWSCURRENT' }, signal);
}

function update(pair: string, name: string, value: string) {
  const change = {
    UpdateExpression: 'SET #name = :value',
    ExpressionAttributeNames: { '#name': name },
    ExpressionAttributeValues: { ':value': { S: value } },
  };
  return dynamodb.updateItem({ TableName, Key: { pair: { S: pair } }, ...change }, signal);
}
