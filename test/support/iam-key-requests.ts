import type { Context } from './iam-conditions.ts';
import type { Asked, Targets } from './iam-requests.ts';

/** Around the key: through whom, and for what. */
export function keyRequests(targets: Targets): Record<string, Asked> {
  const { account, region, environment, key, table, topic, queue, sealingKey } = targets;
  const ask = (action: string, service: string | undefined, encrypted: Context, resource = key): Asked => {
    const caller = { 'kms:CallerAccount': account };
    const via = service && { 'kms:ViaService': `${service}.${region}.amazonaws.com` };
    return { action: `kms:${action}`, resource, context: { ...caller, ...via, ...encrypted } };
  };
  const acme = `arn:aws:secretsmanager:${region}:${account}:secret:token-broker/${environment}/acme-Zz9Yy8`;
  const ofSecret = (arn: string) => ({ 'kms:EncryptionContext:SecretARN': arn });
  const ofTable = {
    'kms:EncryptionContext:aws:dynamodb:tableName': table.replace(/^.*\//, ''),
    'kms:EncryptionContext:aws:dynamodb:subscriberId': account,
  };
  const ofTopic = { 'kms:EncryptionContext:aws:sns:topicArn': topic };
  const ofQueue = { 'kms:EncryptionContext:aws:sqs:arn': queue };
  const otherKey = `arn:aws:kms:${region}:${account}:key/99999999-9999-9999-9999-999999999999`;
  return {
    'decrypt a client’s secret': ask('Decrypt', 'secretsmanager', ofSecret(acme)),
    'decrypt the sealing key': ask('Decrypt', 'secretsmanager', ofSecret(sealingKey)),
    'encrypt for the table': ask('Encrypt', 'dynamodb', ofTable),
    'decrypt for the table': ask('Decrypt', 'dynamodb', ofTable),
    'get a data key for the table': ask('GenerateDataKey', 'dynamodb', ofTable),
    'describe the key for the table': ask('DescribeKey', 'dynamodb', {}),
    'encrypt for the topic': ask('GenerateDataKey', 'sns', ofTopic),
    'decrypt for the topic': ask('Decrypt', 'sns', ofTopic),
    'encrypt for the queue': ask('GenerateDataKey', 'sqs', ofQueue),
    'decrypt for the queue': ask('Decrypt', 'sqs', ofQueue),
    'decrypt a client’s secret by hand': ask('Decrypt', undefined, ofSecret(acme)),
    'decrypt a client’s secret through DynamoDB': ask('Decrypt', 'dynamodb', ofSecret(acme)),
    'decrypt a client’s secret through SSM': ask('Decrypt', 'ssm', ofSecret(acme)),
    'decrypt a secret of others under the key': ask(
      'Decrypt',
      'secretsmanager',
      ofSecret(acme.replace('token-broker/', 'x/')),
    ),
    'decrypt what names nothing': ask('Decrypt', 'secretsmanager', {}),
    'encrypt a secret': ask('GenerateDataKey', 'secretsmanager', ofSecret(acme)),
    'decrypt for the table by hand': ask('Decrypt', undefined, ofTable),
    'decrypt for another table': ask('Decrypt', 'dynamodb', {
      ...ofTable,
      'kms:EncryptionContext:aws:dynamodb:tableName': 'x',
    }),
    'encrypt by hand': ask('Encrypt', undefined, {}),
    'encrypt anew by hand': ask('ReEncryptFrom', undefined, ofSecret(acme)),
    'decrypt for another topic': ask('Decrypt', 'sns', { 'kms:EncryptionContext:aws:sns:topicArn': `${topic}-2` }),
    'decrypt for another queue': ask('Decrypt', 'sqs', { 'kms:EncryptionContext:aws:sqs:arn': `${queue}-2` }),
    'lend the key': ask('CreateGrant', 'dynamodb', {}),
    'lend the key to Secrets Manager': ask('CreateGrant', 'secretsmanager', ofSecret(acme)),
    'delete the key': ask('ScheduleKeyDeletion', undefined, {}),
    'change the key’s policy': ask('PutKeyPolicy', undefined, {}),
    'decrypt with another key': ask('Decrypt', 'secretsmanager', ofSecret(acme), otherKey),
  };
}
