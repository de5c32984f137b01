import { describe, expect, it } from 'vitest';
import { rulesDigest } from '../../functions/environment.ts';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/environment.ts';
import { changed, exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

const plain = synthesise('test', exampleForm());
const KEY_ARN = { 'Fn::GetAtt': [resourceOf(plain, 'ClientSecrets', 'AWS::KMS::Key').id, 'Arn'] };

it.each(Object.entries(environments))('the stack of %s is what was agreed on', async (name, form) => {
  await expect(blanked(synthesise(name, form).text)).toMatchFileSnapshot(
    `__snapshots__/TokenBroker-${name}.template.json`,
  );
});

describe('the permissions on the function', () => {
  const principalsOf = (accessRules: readonly object[]) =>
    resourcesOf(synthesise('test', { ...exampleForm(), accessRules }), 'AWS::Lambda::Permission')
      .map(({ Properties }) => Properties.Principal)
      .filter((principal) => principal !== 'events.amazonaws.com');

  it('are two for each account that an access rule names, and none without access rules', () => {
    const roles = ['111111111111:role/billing', '222222222222:role/billing', '222222222222:role/reporting'];
    const rules = roles.map((role) => ({ role: `arn:aws:iam::${role}`, clients: 'all', services: 'all' }));
    expect(principalsOf(rules).toSorted()).toEqual(['111111111111', '222222222222'].flatMap((one) => [one, one]));
    expect(principalsOf([])).toEqual([]);
  });
});

describe('what holds data', () => {
  it.each([
    ['AWS::SNS::Topic', 'KmsMasterKeyId'],
    ['AWS::SQS::Queue', 'KmsMasterKeyId'],
    ['AWS::Logs::LogGroup', 'KmsKeyId'],
    ['AWS::SecretsManager::Secret', 'KmsKeyId'],
    ['AWS::DynamoDB::Table', 'SSESpecification.KMSMasterKeyId'],
  ])('is encrypted with the stack’s key: %s', (type, property) => {
    const found = resourcesOf(plain, type);
    expect(found).not.toEqual([]);
    for (const { Properties } of found) expect(Properties).toHaveProperty(property, KEY_ARN);
  });

  it('is no secret: none is taken into the stack, and what is made up is never shown', () => {
    expect(plain.text).not.toMatch(/\{\{resolve:|client_secret|"SecretString"/);
    expect(resourcesOf(plain, 'AWS::SecretsManager::Secret')).toMatchObject([
      { Properties: { Name: 'token-broker-keys/test/sealing', GenerateSecretString: { PasswordLength: 64 } } },
    ]);
  });

  it('is for the table a cache: paid by use, without backups, and forgotten', () => {
    const { Properties } = resourceOf(plain, 'PairTable', 'AWS::DynamoDB::Table');
    expect(Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      TimeToLiveSpecification: { AttributeName: 'forgetAt', Enabled: true },
    });
    expect(Properties).not.toHaveProperty('PointInTimeRecoverySpecification');
  });
});

describe('the table, which cannot be deleted while it is protected,', () => {
  it('is made when all else is there and a creation cannot fail any more', () => {
    const table = resourceOf(plain, 'PairTable', 'AWS::DynamoDB::Table');
    expect(table.Properties.DeletionProtectionEnabled).toBe(true);
    const { Resources } = plain.template;
    const madeBefore = new Set<string>();
    const visit = (id: string) => {
      const { DependsOn = [], ...resource } = Resources[id] ?? {};
      const named = [...JSON.stringify(resource).matchAll(/"(?:Ref|Fn::GetAtt)":\[?"(\w+)"/g)];
      for (const other of [...[DependsOn].flat(), ...named.map(([, name = '']) => name)]) {
        if (madeBefore.has(other)) continue;
        madeBefore.add(other);
        visit(other);
      }
    };
    visit(table.id);
    const others = Object.keys(Resources).filter((id) => id !== table.id);
    expect([...madeBefore].toSorted()).toEqual(others.toSorted());
  });
});

describe('destroying or updating the stack', () => {
  it('is not done by accident', () => {
    expect(plain.terminationProtection).toBe(true);
  });

  it('leaves the key, the logs and, as long as there is the function, its earlier versions, but not when their creation fails, and touches no client secret', () => {
    const kept = Object.values(plain.template.Resources).filter(({ UpdateReplacePolicy }) =>
      UpdateReplacePolicy?.startsWith('Retain'),
    );
    const types = ['AWS::KMS::Key', 'AWS::Logs::LogGroup', 'AWS::Lambda::Version'];
    expect(new Set(kept.map(({ Type }) => Type))).toEqual(new Set(types));
    for (const { DeletionPolicy } of kept) expect(DeletionPolicy).toBe('RetainExceptOnCreate');
  });

  it('leaves a key that fits a new stack: no statement of its policy names a resource that is made again', () => {
    const { KeyPolicy } = resourceOf(plain, 'ClientSecrets', 'AWS::KMS::Key').Properties;
    expect(JSON.stringify(KeyPolicy)).not.toMatch(/"Ref"|"Fn::/);
  });

  it('frees the names of the logs, which CloudFormation makes up and the key lets in', () => {
    for (const { Properties } of resourcesOf(plain, 'AWS::Logs::LogGroup')) {
      expect(Properties).not.toHaveProperty('LogGroupName');
    }
    expect(plain.text).toContain(':log-group:TokenBroker-test-*"');
  });
});

describe('the stack', () => {
  it('says on every resource that can be tagged whose it is, and carries tags of one’s own beside that', () => {
    const types = [
      'AWS::KMS::Key',
      'AWS::IAM::Role',
      'AWS::Lambda::Function',
      'AWS::Logs::LogGroup',
      'AWS::SQS::Queue',
    ];
    const tagged = synthesise('test', { ...exampleForm(), tags: { 'cost-centre': '4711' } });
    const tags = types.flatMap((type) => resourcesOf(tagged, type)).map(({ Properties }) => Properties.Tags);
    const expected = [
      { Key: 'application', Value: 'token-broker' },
      { Key: 'cost-centre', Value: '4711' },
      { Key: 'environment', Value: 'test' },
    ];
    expect(new Set(tags.map((own) => JSON.stringify(own)))).toEqual(new Set([JSON.stringify(expected)]));
  });

  it('takes the permissions boundary and the bootstrap qualifier of cdk.json', () => {
    const context = {
      '@aws-cdk/core:permissionsBoundary': { name: 'bounds' },
      '@aws-cdk/core:bootstrapQualifier': 'broker1',
    };
    const { text, ...bounded } = synthesise('test', exampleForm(), { context });
    const boundaries = resourcesOf(bounded, 'AWS::IAM::Role').map(({ Properties }) => Properties.PermissionsBoundary);
    expect(new Set(boundaries)).toEqual(new Set(['arn:aws:iam::111111111111:policy/bounds']));
    expect(text).toContain('cdk-broker1-assets-111111111111-eu-west-1');
    expect(text).not.toContain('hnb659fds');
  });

  it('goes where the settings say, in other partitions too', () => {
    const role = 'arn:aws-cn:iam::222222222222:role/billing';
    const form = changed(changed(exampleForm(), 'accessRules/0/role', role), 'region', 'cn-north-1');
    const { text } = synthesise('test', form);
    expect(text).toContain('arn:aws-cn:secretsmanager:cn-north-1:111111111111:secret:token-broker/test/*');
    expect(text).toContain('"logs.cn-north-1.amazonaws.com.cn"');
    expect(text).not.toContain('arn:aws:');
  });

  it('shows a change of the access rules beside the code asset, which every change of code changes too', () => {
    const summaryOf = (form: unknown) => JSON.parse(synthesise('test', form).text).Metadata.AccessRules;
    const [rule] = exampleForm().accessRules;
    const one = summaryOf(exampleForm());
    const two = summaryOf({ ...exampleForm(), accessRules: [rule, { ...rule, clients: ['globex'] }] });
    const wider = summaryOf({ ...exampleForm(), accessRules: [{ ...rule, clients: 'all' }] });
    const digest = rulesDigest(toBrokerSettings(parseEnvironment('test', exampleForm())));
    expect(one).toBe(digest);
    expect(new Set([one, two, wider]).size).toBe(3);
    expect(summaryOf({ ...exampleForm(), health: { every: 'rate(2 hours)' } })).toBe(one);
  });
});

/** Without the hashes of the code, of which the name of a function's version holds one too. */
function blanked(text: string): string {
  return text.replace(/\b[0-9a-f]{64}\b/g, '<hash>').replace(/(?<=CurrentVersion)[0-9A-F]{8}[0-9a-f]{32}/g, '<hash>');
}
