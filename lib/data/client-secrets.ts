import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  AccountRootPrincipal,
  type IRole,
  PolicyDocument,
  PolicyStatement,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { functionName, topicName } from '../settings/names.ts';

interface ClientSecretsProps {
  readonly environment: string;
  /** The key that an earlier stack of this environment left behind. */
  readonly keyArn?: string | undefined;
}

/**
 * Where the clients' secrets live: `token-broker/<environment>/<client>`, under one key. An operator creates the secrets
 * by hand; no template ever holds one.
 */
export class ClientSecrets extends Construct {
  /** What an operator encrypts a new secret with. */
  readonly key: IKey;
  /** What the name of every client's secret starts with. */
  readonly namePrefix: string;
  readonly #environment: string;

  constructor(scope: Construct, id: string, { environment, keyArn }: ClientSecretsProps) {
    super(scope, id);
    this.#environment = environment;
    this.namePrefix = `token-broker/${environment}/`;
    this.key = createBrokerKey(this, { environment, keyArn });
  }

  /**
   * Lets a role read every client's secret of this environment, as the token function alone, and use the key for nothing
   * else.
   */
  allowReading(role: IRole): void {
    const { region } = Stack.of(this);
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['secretsmanager:GetSecretValue'],
        resources: [this.#secretArns()],
        conditions: asTokenFunction(this, this.#environment),
      }),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt'],
        resources: [this.key.keyArn],
        conditions: {
          StringEquals: { 'kms:ViaService': viaService('secretsmanager', region) },
          ArnLike: { 'kms:EncryptionContext:SecretARN': this.#secretArns() },
        },
      }),
    );
  }

  /** Lets a role see a client's secret from outside: its tags and versions, never a value. */
  allowDescribing(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:DescribeSecret'], resources: [this.#secretArns()] }),
    );
  }

  /** Lets a role list all secrets of the account: IAM cannot narrow a list. */
  allowListing(role: IRole): void {
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['secretsmanager:ListSecrets'], resources: ['*'] }));
  }

  #secretArns(): string {
    return Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      resourceName: `${this.namePrefix}*`,
    });
  }
}

/**
 * The condition that a request comes from the code of the token function: its role reads nothing when another function or
 * a person has it. The ARN is written out, because the function itself waits for its role's policy.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
 */
export function asTokenFunction(scope: Construct, environment: string) {
  const arn = Stack.of(scope).formatArn({ service: 'lambda', resource: `function:${functionName(environment)}` });
  return { ArnEquals: { 'lambda:SourceFunctionArn': arn } };
}

/**
 * The one key of an environment. It encrypts the clients' secrets, which outlive the stack, and so does the key. Its policy
 * names no resource that a new stack would make again, so a later stack can use the key unchanged.
 */
function createBrokerKey(scope: Construct, { environment, keyArn }: ClientSecretsProps): IKey {
  if (keyArn !== undefined) return Key.fromKeyArn(scope, 'Key', keyArn);
  return new Key(scope, 'Key', {
    description: `Encrypts the client secrets token-broker/${environment}/* and what the token broker keeps`,
    enableKeyRotation: true,
    // A creation that fails leaves no key behind: nothing was encrypted with it yet.
    removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    policy: keyPolicy(Stack.of(scope), environment),
  });
}

/** In a key's own policy `*` means this key. */
const THIS_KEY = { resources: ['*'] };

/** What a key must allow for an environment; a key of one's own (`keyArn`) needs these statements too. */
export function keyPolicy(stack: Stack, environment: string): PolicyDocument {
  const { account, region } = stack;
  const principals = [new AccountRootPrincipal()];
  const topic = stack.formatArn({ service: 'sns', resource: topicName(environment) });
  const logGroups = stack.formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName: `${stack.stackName}-*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  const statements = [
    new PolicyStatement({ sid: 'AdministerByIam', principals, actions: ADMINISTRATION, ...THIS_KEY }),
    // IAM alone lets no principal decrypt: only through the service that holds the encrypted data.
    new PolicyStatement({
      sid: 'UseByIamThroughServices',
      principals,
      actions: [...ENVELOPE_USE],
      ...THIS_KEY,
      conditions: {
        StringEquals: {
          'kms:CallerAccount': account,
          'kms:ViaService': ['dynamodb', 'secretsmanager', 'sns', 'sqs'].map((name) => viaService(name, region)),
        },
      },
    }),
    new PolicyStatement({
      sid: 'LendToTheTable',
      principals,
      actions: ['kms:CreateGrant'],
      ...THIS_KEY,
      conditions: {
        StringEquals: { 'kms:CallerAccount': account, 'kms:ViaService': viaService('dynamodb', region) },
      },
    }),
    // An alarm publishes as CloudWatch, which no policy of this account's roles covers.
    new PolicyStatement({
      sid: 'UseForAlarms',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: [...DATA_KEY_USE],
      ...THIS_KEY,
      conditions: { StringEquals: { 'aws:SourceAccount': account, 'kms:EncryptionContext:aws:sns:topicArn': topic } },
    }),
    new PolicyStatement({
      sid: 'UseForLogs',
      principals: [new ServicePrincipal(`logs.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`)],
      actions: [...ENVELOPE_USE],
      ...THIS_KEY,
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } },
    }),
  ];
  return new PolicyDocument({ statements });
}

/** The service that calls KMS for a principal, as the condition `kms:ViaService` names it. */
export function viaService(service: string, region: string): string {
  return `${service}.${region}.amazonaws.com`;
}

const DATA_KEY_USE = ['kms:Decrypt', 'kms:GenerateDataKey'];

const ENVELOPE_USE = [
  ...DATA_KEY_USE,
  'kms:DescribeKey',
  'kms:Encrypt',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
];

const ADMINISTRATION = [
  'kms:CancelKeyDeletion',
  'kms:CreateAlias',
  'kms:DeleteAlias',
  'kms:DescribeKey',
  'kms:DisableKey',
  'kms:DisableKeyRotation',
  'kms:EnableKey',
  'kms:EnableKeyRotation',
  'kms:GetKeyPolicy',
  'kms:GetKeyRotationStatus',
  'kms:ListGrants',
  'kms:ListKeyPolicies',
  'kms:ListKeyRotations',
  'kms:ListResourceTags',
  'kms:PutKeyPolicy',
  'kms:RevokeGrant',
  'kms:RotateKeyOnDemand',
  'kms:ScheduleKeyDeletion',
  'kms:TagResource',
  'kms:UntagResource',
  'kms:UpdateAlias',
  'kms:UpdateKeyDescription',
];
