import { describe, expect, it } from 'vitest';
import { bootstrapOf } from '../../cli/policy.ts';
import { rulesDigest } from '../../functions/variables.ts';
import { environments } from '../../lib/environments.ts';
import { MAX_CALLER_ACCOUNTS } from '../../lib/settings/access-rules.ts';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/settings.ts';
import { runCommandLine } from '../e2e/commands/shared/command-line.ts';
import { resourceOf, resourcesOf, synthesise } from '../support/stack/synthesise.ts';
import { ALL_OPTIONS, changed, exampleForm } from '../unit/settings/example-form.ts';

const plain = synthesise('test', exampleForm());
const table = resourceOf(plain, 'PairTable', 'AWS::DynamoDB::Table');

it.each(['dev', 'prod'])('the stack of %s is as recorded', async (name) => {
  const { text } = synthesise(name, environments[name]);
  const recorded = compact(JSON.stringify(JSON.parse(withoutHashes(text)), undefined, 2));
  await expect(recorded).toMatchFileSnapshot(`__snapshots__/TokenBroker-${name}.template.json`);
});

it('the stack of staging differs from that of prod by its settings only: the name decides nothing but names', () => {
  const [staging, prod] = ['staging', 'prod'].map((name) => synthesise(name, environments.staging).text);
  const renamed = withoutHashes(`${prod}`).replaceAll(/\bprod\b|(?<=TokenBroker)prod/g, 'staging');
  expect(renamed).toBe(withoutHashes(`${staging}`));
});

/** Joins the lines of each list and object that fits on a line. */
function compact(json: string): string {
  const shorter = json.replaceAll(
    /^( *)(.*[{[])\n((?:.*[^{[\n]\n)+?) *([}\]].*)$/gm,
    (lines, indent, first, inner, last) => {
      const line = `${indent}${first} ${inner.trim().replaceAll(/\n */g, ' ')} ${last}`;
      return line.length <= 120 ? line : lines;
    },
  );
  return shorter === json ? `${json}\n` : compact(shorter);
}

/** Leaves out the hashes of the code and of the stack's name, which some logical ids contain too. */
function withoutHashes(template: string): string {
  return template
    .replace(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replace(/(?<=CurrentVersion)[0-9A-F]{8}[0-9a-f]{32}/g, '<hash>')
    .replace(/(?<=AllowEventRule\w+Function)[0-9A-F]{16}/g, '<hash>');
}

it('the permissions on the function have room in the policy that Lambda makes of them, which may have 20 480 bytes', () => {
  const name = 'a'.repeat(20);
  const accessRules = Array.from({ length: MAX_CALLER_ACCOUNTS }, (_, index) => {
    return { role: `arn:aws:iam::${200_000_000_000 + index}:role/caller`, clients: 'all', services: 'all' };
  });
  const { Resources } = synthesise(name, { ...exampleForm(), region: 'ap-southeast-1', accessRules }).template;
  const statements = Object.entries(Resources)
    .filter(([, { Type, Properties }]) => Type === 'AWS::Lambda::Permission' && /^\d{12}$/.test(Properties.Principal))
    .map(([id, { Properties }]) => ({
      Sid: `TokenBroker-${name}-${id}-ABCDEFGHIJKL`.slice(-100),
      Effect: 'Allow',
      Principal: { AWS: `arn:aws-us-gov:iam::${Properties.Principal}:root` },
      Action: Properties.Action,
      Resource: `arn:aws-us-gov:lambda:ap-southeast-1:111111111111:function:token-broker-${name}:live`,
      Condition: Properties.FunctionUrlAuthType
        ? { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } }
        : { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
    }));
  expect(statements).toHaveLength(MAX_CALLER_ACCOUNTS * 2);
  const policy = JSON.stringify({ Version: '2012-10-17', Id: 'default', Statement: statements });
  expect(policy.length).toBeLessThanOrEqual(20_480);
});

it('the template without its list of access has room beside the longest list, of 750 kB, in 1 000 kB', () => {
  expect(synthesise('prod', { ...environments.prod, ...ALL_OPTIONS }).text.length).toBeLessThan(175_000);
});

it('no credential is taken into the stack, and the generated secret is never shown', () => {
  expect(plain.text).not.toMatch(/\{\{resolve:|client_secret|"SecretString"/);
  const Properties = { Name: 'token-broker-keys/test/sealing', GenerateSecretString: { PasswordLength: 64 } };
  expect(resourcesOf(plain, 'AWS::SecretsManager::Secret')).toMatchObject([{ Properties }]);
});

it('the table, which cannot be deleted while it is protected, is made when all else is there and a creation cannot fail any more', () => {
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

describe('destroying or updating the stack', () => {
  it('is not done by accident, and leaves the key, the logs and the function’s earlier versions, but not when their creation fails, and touches no client secret', () => {
    expect(plain.terminationProtection).toBe(true);
    const kept = Object.values(plain.template.Resources).filter(({ UpdateReplacePolicy }) =>
      UpdateReplacePolicy?.startsWith('Retain'),
    );
    const types = ['AWS::KMS::Key', 'AWS::Logs::LogGroup', 'AWS::Lambda::Version'];
    expect(new Set(kept.map(({ Type }) => Type))).toEqual(new Set(types));
    for (const { DeletionPolicy } of kept) expect(DeletionPolicy).toBe('RetainExceptOnCreate');
  });

  it('leaves a key that fits a new stack, and frees the names of the logs, which the key lets in', () => {
    const { KeyPolicy } = resourceOf(plain, 'ClientSecrets', 'AWS::KMS::Key').Properties;
    expect(JSON.stringify(KeyPolicy)).not.toMatch(/"Ref"|"Fn::/);
    for (const { Properties } of resourcesOf(plain, 'AWS::Logs::LogGroup')) {
      expect(Properties).not.toHaveProperty('LogGroupName');
    }
    expect(plain.text).toContain(':log-group:TokenBroker-test-*"');
  });
});

it('config --key-policy prints the policy of the key', async () => {
  const { Properties } = resourceOf(synthesise('dev', environments.dev), 'ClientSecrets', 'AWS::KMS::Key');
  const { stdout } = await runCommandLine(['config', 'dev', '--key-policy']);
  expect(JSON.parse(stdout)).toEqual(Properties.KeyPolicy);
});

describe('the stack', () => {
  it('carries its own tags and tags of one’s own, and takes the permissions boundary and the qualifier of cdk.json', () => {
    const BOUNDARY = '@aws-cdk/core:permissionsBoundary';
    const spelled = (part: string) => `$\{${part}}`;
    const context = {
      [BOUNDARY]: { name: `team/${spelled('Qualifier')}-${spelled('AWS::Region')}` },
      '@aws-cdk/core:bootstrapQualifier': 'broker1',
    };
    const own = synthesise('test', { ...exampleForm(), tags: { 'cost-centre': '4711' } }, { context });
    const types = ['KMS::Key', 'IAM::Role', 'Lambda::Function', 'Logs::LogGroup', 'SQS::Queue'];
    const tags = types.flatMap((type) => resourcesOf(own, `AWS::${type}`)).map(({ Properties }) => Properties.Tags);
    const values = { application: 'token-broker', 'cost-centre': '4711', environment: 'test' };
    const expected = Object.entries(values).map(([Key, Value]) => ({ Key, Value }));
    expect(new Set(tags.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(expected)]));
    const boundaries = resourcesOf(own, 'AWS::IAM::Role').map(({ Properties }) => Properties.PermissionsBoundary);
    const bounds = 'arn:aws:iam::111111111111:policy/team/broker1-eu-west-1';
    expect(new Set(boundaries)).toEqual(new Set([bounds]));
    // The command `policy --execution` demands the same.
    const environment = parseEnvironment('test', exampleForm());
    expect(bootstrapOf(environment, context).boundary).toBe(bounds);
    const whole = { [BOUNDARY]: { arn: `arn:aws:iam::${spelled('AWS::AccountId')}:policy/b` } };
    expect(bootstrapOf(environment, whole).boundary).toBe('arn:aws:iam::111111111111:policy/b');
    expect(own.text).toContain('cdk-broker1-assets-111111111111-eu-west-1');
  });

  it('goes where the settings say, in other partitions too', () => {
    const role = 'arn:aws-cn:iam::222222222222:role/billing';
    const form = changed(changed(exampleForm(), 'accessRules/0/role', role), 'region', 'cn-north-1');
    const { text, template } = synthesise('test', form);
    expect(text).toContain('arn:aws-cn:secretsmanager:cn-north-1:111111111111:secret:token-broker/test/*');
    expect(text).toContain('"logs.cn-north-1.amazonaws.com.cn"');
    expect(text).not.toContain('arn:aws:');
    const dashboards = '/cloudwatch/home?region=cn-north-1#dashboards/dashboard';
    const url = `https://cn-north-1.console.amazonaws.cn${dashboards}/token-broker-test-cn-north-1`;
    expect(template.Outputs.DashboardUrl?.Value).toBe(url);
  });

  it('shows a change of the access rules beside the code asset, which every change of code changes too', () => {
    const summaryOf = (form: unknown) => JSON.parse(synthesise('test', form).text).Metadata.AccessRules;
    const [rule] = exampleForm().accessRules;
    const one = summaryOf(exampleForm());
    expect(one).toBe(rulesDigest(toBrokerSettings(parseEnvironment('test', exampleForm()))));
    expect(summaryOf({ ...exampleForm(), accessRules: [{ ...rule, clients: 'all' }] })).not.toBe(one);
    expect(summaryOf({ ...exampleForm(), health: { every: 'rate(2 hours)' } })).toBe(one);
  });
});
