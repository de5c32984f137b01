import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { functionUrlEvent } from '../aws/function-url-events.ts';
import { PAIR } from '../example.ts';

export const REGION = 'eu-west-1';

/** A call for the token of the pair. */
export const EVENT = functionUrlEvent(PAIR);

/** The latencies of Secrets Manager, of DynamoDB in the region, and of a service elsewhere. */
export const LATENCIES_MS = [12, 4, 60] as const;

/** The share of a processor that Lambda allots to an invocation: 512 MB of the 1 769 MB of a full processor. */
export const CPU_SHARE = 0.29;

/** The items of a table, by their pair. */
export type Item = Record<string, AttributeValue>;

/** A service's answer to a token request. */
export const TOKEN_RESPONSE = {
  access_token: 'a-token-that-is-as-long-as-opaque-tokens-are',
  token_type: 'Bearer',
  expires_in: 86_400,
};

/** Returns AWS's answer to a call of a token request, with the necessary members only. */
export function answerOfAws(target: string, body: string, items: Map<string, Item>): object {
  const { SecretId, VersionStage = 'AWSCURRENT', Key, UpdateExpression, ...rest } = JSON.parse(body);
  if (target.endsWith('.GetSecretValue')) {
    return {
      ARN: `arn:aws:secretsmanager:eu-west-1:111111111111:secret:${SecretId}-AbCdEf`,
      Name: SecretId,
      VersionId: '11111111-2222-4333-8444-555555555555',
      // A credential for all names, from which a sealing key can be derived too.
      SecretString: JSON.stringify({ client_id: 'the-user-name', secret: 'the-password-of-acme', services: 'all' }),
      VersionStages: [VersionStage],
      CreatedDate: 1_767_225_600,
    };
  }
  if (target.endsWith('.GetItem')) return { Item: items.get(Key.pair.S) };
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values } = rest;
  const item: Item = { ...items.get(Key.pair.S), ...Key };
  const [changes = '', removals = ''] = UpdateExpression.split('REMOVE');
  for (const [, name, value] of changes.matchAll(/(#\w+) (?:= (?:if_not_exists\(\w+, )?)?(:\w+)/g)) {
    item[names[name]] = values[value];
  }
  for (const [name] of removals.matchAll(/#\w+/g)) delete item[names[name]];
  items.set(Key.pair.S, item);
  return {};
}
