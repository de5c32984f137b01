import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  AccountRootPrincipal,
  type IPrincipal,
  type IRole,
  PolicyDocument,
  PolicyStatement,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import { CfnKey, type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { secretPrefix, urlSuffixOf } from '../../functions/vocabulary.ts';
import { functionName, topicName } from '../settings/names.ts';
import { allow, viaService } from './allow.ts';

interface ClientSecretsProps {
  readonly environment: string;
  /** The key that an earlier stack of this environment left behind. */
  readonly keyArn?: string | undefined;
}

/**
 * The place of the clients' secrets: `token-broker/<environment>/<client>`, encrypted with a single key. An operator
 * creates the secrets by hand. Templates never contain a client's secret.
 */
export class ClientSecrets extends Construct {
  /** Encrypts the clients' secrets. */
  readonly key: IKey;
  /** The prefix of the names of all clients' secrets. */
  readonly namePrefix: string;
  readonly #environment: string;

  constructor(scope: Construct, id: string, { environment, keyArn }: ClientSecretsProps) {
    super(scope, id);
    this.#environment = environment;
    this.namePrefix = secretPrefix(environment);
    this.key = keyArn !== undefined ? Key.fromKeyArn(this, 'Key', keyArn) : this.#createKey();
  }

  #createKey(): IKey {
    const key = new Key(this, 'Key', {
      description: `Encrypts the client secrets ${this.namePrefix}* and what the token broker keeps`,
      enabled: true,
      enableKeyRotation: true,
      // The secrets outlive the stack. A failed creation deletes the key, which has not encrypted anything yet.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      policy: keyPolicy(Stack.of(this), this.#environment),
    });
    // KMS checks before the tags count whether CloudFormation's role may change the policy, which it may by tags only.
    // The policy leaves the key to the account. @see aws-solutions/innovation-sandbox-on-aws#31
    const { defaultChild } = key.node;
    if (defaultChild instanceof CfnKey) defaultChild.bypassPolicyLockoutSafetyCheck = true;
    return key;
  }

  /** Lets a role read every client's secret, only as the token function, and use the key only for that. */
  allowReading(role: IRole): void {
    const secrets = this.#secretArns();
    allow(role, ['secretsmanager:GetSecretValue'], secrets, asFunction(this, functionName(this.#environment)));
    allow(role, ['kms:Decrypt'], this.key.keyArn, {
      StringEquals: { 'kms:ViaService': viaService('secretsmanager', Stack.of(this).region) },
      ArnLike: { 'kms:EncryptionContext:SecretARN': secrets },
    });
  }

  /** Lets a role read the tags and versions of every client's secret, but no value. */
  allowDescribing(role: IRole): void {
    allow(role, ['secretsmanager:DescribeSecret'], this.#secretArns());
  }

  /** Lets a role list all secrets of the account, because IAM cannot narrow a list. */
  allowListing(role: IRole): void {
    allow(role, ['secretsmanager:ListSecrets'], '*');
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
 * The condition that a request comes from the code of a function, so that its role is useless to another function or a
 * person. The ARN is a string, because the function depends on the policy of its role.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
 */
export function asFunction(scope: Construct, name: string) {
  const arn = Stack.of(scope).formatArn({ service: 'lambda', resource: `function:${name}` });
  return { ArnEquals: { 'lambda:SourceFunctionArn': arn } };
}

/**
 * The policy that the key of an environment needs, a key from `keyArn` too. A later stack can use the key unchanged,
 * because the policy names no resource that a new stack would create again.
 */
export function keyPolicy(stack: Stack, environment: string): PolicyDocument {
  const { account, region } = stack;
  const ofAccount = new AccountRootPrincipal();
  const via = (service: string) => viaService(service, region);
  const topic = stack.formatArn({ service: 'sns', resource: topicName(environment) });
  const logGroups = stack.formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName: `${stack.stackName}-*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  const logs = new ServicePrincipal(`logs.${region}.${urlSuffixOf(region)}`);
  const statements = [
    statement('AdministerByIam', ofAccount, ADMINISTRATION),
    // Principals can decrypt only through the service that stores the encrypted data. A right in IAM does not suffice.
    statement('UseByIamThroughServices', ofAccount, ENVELOPE_USE, {
      StringEquals: {
        'kms:CallerAccount': account,
        'kms:ViaService': ['dynamodb', 'secretsmanager', 'sns', 'sqs'].map(via),
      },
    }),
    statement('LendToTheTable', ofAccount, 'CreateGrant', {
      StringEquals: { 'kms:CallerAccount': account, 'kms:ViaService': via('dynamodb') },
      Bool: { 'kms:GrantIsForAWSResource': 'true' },
    }),
    // Alarms publish as CloudWatch, which is not covered by the policies of this account's roles.
    statement('UseForAlarms', new ServicePrincipal('cloudwatch.amazonaws.com'), DATA_KEY_USE, {
      StringEquals: { 'aws:SourceAccount': account, 'kms:EncryptionContext:aws:sns:topicArn': topic },
    }),
    statement('UseForLogs', logs, ENVELOPE_USE, { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } }),
  ];
  return new PolicyDocument({ statements });
}

/** Creates a statement of a key's policy, in which `*` means this key. `uses` have spaces between them. */
function statement(sid: string, principal: IPrincipal, uses: string, conditions = {}): PolicyStatement {
  const actions = uses.split(' ').map((use) => `kms:${use}`);
  return new PolicyStatement({ sid, principals: [principal], actions, resources: ['*'], conditions });
}

const DATA_KEY_USE = 'Decrypt GenerateDataKey';

const ENVELOPE_USE = `${DATA_KEY_USE} DescribeKey Encrypt GenerateDataKeyWithoutPlaintext ReEncryptFrom ReEncryptTo`;

const ADMINISTRATION = [
  'CancelKeyDeletion CreateAlias DeleteAlias DescribeKey DisableKey DisableKeyRotation EnableKey EnableKeyRotation',
  'GetKeyPolicy GetKeyRotationStatus ListGrants ListKeyPolicies ListKeyRotations ListResourceTags PutKeyPolicy',
  'RevokeGrant RotateKeyOnDemand ScheduleKeyDeletion TagResource UntagResource UpdateAlias UpdateKeyDescription',
].join(' ');
