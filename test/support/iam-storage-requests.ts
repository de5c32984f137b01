import type { Asked, Targets } from './iam-requests.ts';

/** Around the secrets of an environment, and secrets outside of it. */
export function secretRequests({ account, region, environment, sealingKey }: Targets): Record<string, Asked> {
  const secret = (name: string) => `arn:aws:secretsmanager:${region}:${account}:secret:${name}-Zz9Yy8`;
  const acme = secret(`token-broker/${environment}/acme`);
  const ask = (action: string, resource = acme): Asked => ({ action: `secretsmanager:${action}`, resource });
  return {
    'read a client’s secret': ask('GetSecretValue'),
    'describe a client’s secret': ask('DescribeSecret'),
    'read several secrets at once': ask('BatchGetSecretValue', '*'),
    'list the secrets': ask('ListSecrets', '*'),
    'list the versions of a client’s secret': ask('ListSecretVersionIds'),
    'write a client’s secret': ask('PutSecretValue'),
    'change a client’s secret': ask('UpdateSecret'),
    'move a stage of a client’s secret': ask('UpdateSecretVersionStage'),
    'create a client’s secret': ask('CreateSecret'),
    'delete a client’s secret': ask('DeleteSecret'),
    'tag a client’s secret': ask('TagResource'),
    'let others read a client’s secret': ask('PutResourcePolicy'),
    'rotate a client’s secret': ask('RotateSecret'),
    'read the sealing key': ask('GetSecretValue', sealingKey),
    'write the sealing key': ask('PutSecretValue', sealingKey),
    'describe the sealing key': ask('DescribeSecret', sealingKey),
    'read the secret of another environment': ask('GetSecretValue', secret('token-broker/other/acme')),
    'read a secret whose name begins alike': ask('GetSecretValue', secret(`token-broker/${environment}-2/acme`)),
    'read the sealing key of another environment': ask('GetSecretValue', secret('token-broker-keys/other/sealing')),
    'read a secret of others': ask('GetSecretValue', secret('payroll/database')),
    'read a secret in another account': ask('GetSecretValue', acme.replace(account, '999999999999')),
    'read a secret in another region': ask('GetSecretValue', acme.replace(region, 'us-east-1')),
  };
}

/** Around the table of pairs. */
export function tableRequests({ account, region, table }: Targets): Record<string, Asked> {
  const ask = (action: string, LeadingKeys?: readonly string[], resource = table): Asked => ({
    action: `dynamodb:${action}`,
    resource,
    ...(LeadingKeys && { context: { 'dynamodb:LeadingKeys': LeadingKeys } }),
  });
  const otherTable = `arn:aws:dynamodb:${region}:${account}:table/payments`;
  return {
    'read a pair': ask('GetItem', ['acme/customer-insights']),
    'write a pair': ask('UpdateItem', ['acme/customer-insights']),
    'read a memory of the table': ask('GetItem', ['notify:acme/customer-insights']),
    'write a memory of the table': ask('UpdateItem', ['notify:acme/customer-insights']),
    'put a pair': ask('PutItem', ['notify:acme']),
    'delete a pair': ask('DeleteItem', ['notify:acme']),
    'read several pairs at once': ask('BatchGetItem', ['acme/customer-insights']),
    'query the table': ask('Query', ['notify:acme']),
    'scan the table': ask('Scan'),
    'export the table': ask('ExportTableToPointInTime'),
    'delete the table': ask('DeleteTable'),
    'change the table': ask('UpdateTable'),
    'read an index of the table': ask('Query', ['notify:acme'], `${table}/index/any`),
    'read another table': ask('GetItem', ['notify:acme'], otherTable),
    'write another table': ask('UpdateItem', ['notify:acme'], otherTable),
    'read a table with a longer name': ask('GetItem', ['notify:acme'], `${table}-2`),
    'run PartiQL on the table': ask('PartiQLSelect'),
  };
}
