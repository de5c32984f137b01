import type { Asked, Targets } from './iam-requests.ts';

/** Around the secrets of an environment, and secrets outside of it. */
export function secretRequests({
  account,
  region,
  environment,
  sealingKey,
  functions,
}: Targets): Record<string, Asked> {
  const secret = (name: string) => `arn:aws:secretsmanager:${region}:${account}:secret:${name}-Zz9Yy8`;
  const acme = secret(`token-broker/${environment}/acme`);
  const ask = (action: string, resource = acme, context = {}): Asked => ({
    action: `secretsmanager:${action}`,
    resource,
    context,
  });
  const inCodeOf = (arn: string) => ({ 'lambda:SourceFunctionArn': arn });
  const asCode = inCodeOf(functions.token);
  return {
    'read a client’s secret': ask('GetSecretValue', acme, asCode),
    'read a client’s secret from another place': ask('GetSecretValue'),
    'read a client’s secret as another function': ask('GetSecretValue', acme, inCodeOf(functions.health)),
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
    'read the sealing key': ask('GetSecretValue', sealingKey, asCode),
    'read the sealing key from another place': ask('GetSecretValue', sealingKey),
    'read the sealing key as a function with a longer name': ask(
      'GetSecretValue',
      sealingKey,
      inCodeOf(`${functions.token}-2`),
    ),
    'write the sealing key': ask('PutSecretValue', sealingKey),
    'describe the sealing key': ask('DescribeSecret', sealingKey),
    'read the secret of another environment': ask('GetSecretValue', secret('token-broker/other/acme'), asCode),
    'read a secret whose name begins alike': ask(
      'GetSecretValue',
      secret(`token-broker/${environment}-2/acme`),
      asCode,
    ),
    'read the sealing key of another environment': ask(
      'GetSecretValue',
      secret('token-broker-keys/other/sealing'),
      asCode,
    ),
    'read a secret of others': ask('GetSecretValue', secret('payroll/database'), asCode),
    'read a secret in another account': ask('GetSecretValue', acme.replace(account, '999999999999'), asCode),
    'read a secret in another region': ask('GetSecretValue', acme.replace(region, 'us-east-1'), asCode),
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
