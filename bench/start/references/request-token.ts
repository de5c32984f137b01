import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { type DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

export interface Token {
  readonly access_token: string;
  readonly expires_in: number;
}

interface Dependencies {
  readonly dynamodb: DynamoDBClient;
  readonly secretsManager: SecretsManagerClient;
  readonly parseCredential: (text: string) => { readonly client_id: string; readonly secret: string };
  /** Sends the token request and reads the token response. */
  readonly post: (authorization: string) => Promise<Token>;
}

/** The broker's job with the broker's calls: read, take the lease, ask the service, publish. */
export async function requestToken(dependencies: Dependencies, client: string, pair: string): Promise<Token> {
  const { dynamodb, secretsManager, parseCredential, post } = dependencies;
  const key = { TableName: process.env.TABLE ?? '', Key: { pair: { S: pair } } };
  const readSecret = async (SecretId: string) =>
    (await secretsManager.send(new GetSecretValueCommand({ SecretId }))).SecretString ?? '';
  const [, credential, sealingKey] = await Promise.all([
    dynamodb.send(new GetItemCommand({ ...key, ConsistentRead: true })),
    readSecret(`token-broker/bench/${client}`),
    readSecret('token-broker-keys/bench/sealing'),
  ]);
  await dynamodb.send(
    new UpdateItemCommand({
      ...key,
      UpdateExpression: 'SET lease = :owner',
      ConditionExpression: 'attribute_not_exists(lease)',
      ExpressionAttributeValues: { ':owner': { S: randomBytes(16).toString('hex') } },
    }),
  );
  const { client_id, secret } = parseCredential(credential);
  const token = await post(`Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`);
  await dynamodb.send(
    new UpdateItemCommand({
      ...key,
      UpdateExpression: 'SET sealed = :token REMOVE lease',
      ExpressionAttributeValues: { ':token': { B: seal(sealingKey, token.access_token) } },
    }),
  );
  return token;
}

function seal(key: string, token: string): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', createHash('sha256').update(key).digest(), randomBytes(12));
  return Buffer.concat([cipher.update(token), cipher.final(), cipher.getAuthTag()]);
}
