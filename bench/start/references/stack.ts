import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import { z } from 'zod';

const { TABLE = '', AUTH_URL = '' } = process.env;
const logger = new Logger({ serviceName: 'stack' });
const metrics = new Metrics({ namespace: 'Stack', serviceName: 'stack' });
const tracer = new Tracer({ serviceName: 'stack' });
const dynamodb = tracer.captureAWSv3Client(new DynamoDBClient({}));
const secretsManager = tracer.captureAWSv3Client(new SecretsManagerClient({}));
const tokens = new Map<string, Token>();

const requestSchema = z.strictObject({ client: z.string().min(1), service: z.string().min(1) });
const credentialSchema = z.object({ client_id: z.string(), secret: z.string() });
const tokenSchema = z.object({ access_token: z.string(), expires_in: z.number() });
type Token = z.infer<typeof tokenSchema>;

const app = new Hono();
app.post('/token', async (context) => {
  const { client, service } = requestSchema.parse(await context.req.json());
  const pair = `${client}/${service}`;
  const token = tokens.get(pair) ?? (await requestToken(client, pair));
  tokens.set(pair, token);
  logger.info('issued', { pair });
  metrics.addMetric('Requests', MetricUnit.Count, 1);
  metrics.publishStoredMetrics();
  return context.json({ ...token, token_type: 'Bearer' });
});

/** The same job as the broker's, with the same calls, put together from what teams commonly take. */
export const handler = handle(app);

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
  const { client_id, secret } = credentialSchema.parse(JSON.parse(credential));
  const authorization = `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`;
  const answer = await fetch(new URL('/auth/v1/token', AUTH_URL), { method: 'POST', headers: { authorization } });
  const token = tokenSchema.parse(await answer.json());
  await dynamodb.send(
    new UpdateItemCommand({
      ...key,
      UpdateExpression: 'SET sealedToken = :token REMOVE leaseOwner',
      ExpressionAttributeValues: { ':token': { B: seal(sealingKey, token.access_token) } },
    }),
  );
  return token;
}

async function readSecret(SecretId: string): Promise<string> {
  const { SecretString = '' } = await secretsManager.send(new GetSecretValueCommand({ SecretId }));
  return SecretString;
}

function seal(key: string, token: string): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update(key).digest(), randomBytes(12));
  return Buffer.concat([cipher.update(token), cipher.final(), cipher.getAuthTag()]);
}
