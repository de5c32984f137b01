import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { Tracer } from '@aws-lambda-powertools/tracer';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { Hono } from 'hono';
import { handle } from 'hono/aws-lambda';
import { z } from 'zod';
import { requestToken, type Token } from './request-token.ts';

const { AUTH_URL = '' } = process.env;
const logger = new Logger({ serviceName: 'stack' });
const metrics = new Metrics({ namespace: 'Stack', serviceName: 'stack' });
const tracer = new Tracer({ serviceName: 'stack' });
const dynamodb = tracer.captureAWSv3Client(new DynamoDBClient({}));
const secretsManager = tracer.captureAWSv3Client(new SecretsManagerClient({}));
const tokens = new Map<string, Token>();

const requestSchema = z.strictObject({ client: z.string().min(1), service: z.string().min(1) });
const credentialSchema = z.object({ client_id: z.string(), secret: z.string() });
const tokenSchema = z.object({ access_token: z.string(), expires_in: z.number() });

const dependencies = {
  dynamodb,
  secretsManager,
  parseCredential: (text: string) => credentialSchema.parse(JSON.parse(text)),
  post,
};

const app = new Hono();
app.post('/token', async (context) => {
  const { client, service } = requestSchema.parse(await context.req.json());
  const pair = `${client}/${service}`;
  const token = tokens.get(pair) ?? (await requestToken(dependencies, client, pair));
  tokens.set(pair, token);
  logger.info('issued', { pair });
  metrics.addMetric('Requests', MetricUnit.Count, 1);
  metrics.publishStoredMetrics();
  return context.json({ ...token, token_type: 'Bearer' });
});

/** The same job as the broker's, with the same calls, built from the libraries that teams commonly take. */
export const handler = handle(app);

async function post(authorization: string): Promise<Token> {
  const answer = await fetch(new URL('/auth/v1/token', AUTH_URL), { method: 'POST', headers: { authorization } });
  return tokenSchema.parse(await answer.json());
}
