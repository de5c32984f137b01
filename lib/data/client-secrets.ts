import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  AccountRootPrincipal,
  type IPrincipal,
  type IRole,
  PolicyDocument,
  PolicyStatement,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { secretPrefix } from '../../functions/vocabulary.ts';
import { functionName, topicName } from '../settings/names.ts';
import { allow, viaService } from './allow.ts';

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
  /** Encrypts the clients' secrets. */
  readonly key: IKey;
  /** The prefix of the names of all clients' secrets. */
  readonly namePrefix: string;
  readonly #environment: string;

  constructor(scope: Construct, id: string, { environment, keyArn }: ClientSecretsProps) {
    super(scope, id);
    this.#environment = environment;
    this.namePrefix = secretPrefix(environment);
    this.key =
      keyArn !== undefined
        ? Key.fromKeyArn(this, 'Key', keyArn)
        : new Key(this, 'Key', {
            description: `Encrypts the client secrets ${secretPrefix(environment)}* and what the token broker keeps`,
            enableKeyRotation: true,
            // The secrets outlive the stack. A creation that fails leaves no key behind: nothing was encrypted with it yet.
            removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
            policy: keyPolicy(Stack.of(this), environment),
          });
  }

  /** Lets a role read every client's secret, only as the token function, and use the key for nothing else. */
  allowReading(role: IRole): void {
    const secrets = this.#secretArns();
    allow(role, ['secretsmanager:GetSecretValue'], secrets, asTokenFunction(this, this.#environment));
    allow(role, ['kms:Decrypt'], this.key.keyArn, {
      StringEquals: { 'kms:ViaService': viaService('secretsmanager', Stack.of(this).region) },
      ArnLike: { 'kms:EncryptionContext:SecretARN': secrets },
    });
  }

  /** Lets a role see a client's secret from outside: its tags and versions, never a value. */
  allowDescribing(role: IRole): void {
    allow(role, ['secretsmanager:DescribeSecret'], this.#secretArns());
  }

  /** Lets a role list all secrets of the account: IAM cannot narrow a list. */
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
 * The condition that a request comes from the token function itself, so that its role is of no use to another function or
 * a person. The ARN is written out, because the function itself waits for its role's policy.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
 */
export function asTokenFunction(scope: Construct, environment: string) {
  const arn = Stack.of(scope).formatArn({ service: 'lambda', resource: `function:${functionName(environment)}` });
  return { ArnEquals: { 'lambda:SourceFunctionArn': arn } };
}

/**
 * The policy that the key of an environment needs, one given as `keyArn` too. It names no resource that a new stack would
 * make again, so a later stack can use the key unchanged.
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
  const logs = new ServicePrincipal(`logs.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`);
  const statements = [
    statement('AdministerByIam', ofAccount, ADMINISTRATION),
    // IAM alone lets no principal decrypt: only through the service that holds the encrypted data.
    statement('UseByIamThroughServices', ofAccount, ENVELOPE_USE, {
      StringEquals: {
        'kms:CallerAccount': account,
        'kms:ViaService': ['dynamodb', 'secretsmanager', 'sns', 'sqs'].map(via),
      },
    }),
    statement('LendToTheTable', ofAccount, ['CreateGrant'], {
      StringEquals: { 'kms:CallerAccount': account, 'kms:ViaService': via('dynamodb') },
    }),
    // An alarm publishes as CloudWatch, which no policy of this account's roles covers.
    statement('UseForAlarms', new ServicePrincipal('cloudwatch.amazonaws.com'), DATA_KEY_USE, {
      StringEquals: { 'aws:SourceAccount': account, 'kms:EncryptionContext:aws:sns:topicArn': topic },
    }),
    statement('UseForLogs', logs, ENVELOPE_USE, { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } }),
  ];
  return new PolicyDocument({ statements });
}

/** In a key's own policy `*` means this key. */
function statement(sid: string, principal: IPrincipal, uses: readonly string[], conditions = {}): PolicyStatement {
  const actions = uses.map((use) => `kms:${use}`);
  return new PolicyStatement({ sid, principals: [principal], actions, resources: ['*'], conditions });
}

const DATA_KEY_USE = ['Decrypt', 'GenerateDataKey'];

const ENVELOPE_USE = [
  ...DATA_KEY_USE,
  'DescribeKey',
  'Encrypt',
  'GenerateDataKeyWithoutPlaintext',
  'ReEncryptFrom',
  'ReEncryptTo',
];

const ADMINISTRATION = [
  'CancelKeyDeletion',
  'CreateAlias',
  'DeleteAlias',
  'DescribeKey',
  'DisableKey',
  'DisableKeyRotation',
  'EnableKey',
  'EnableKeyRotation',
  'GetKeyPolicy',
  'GetKeyRotationStatus',
  'ListGrants',
  'ListKeyPolicies',
  'ListKeyRotations',
  'ListResourceTags',
  'PutKeyPolicy',
  'RevokeGrant',
  'RotateKeyOnDemand',
  'ScheduleKeyDeletion',
  'TagResource',
  'UntagResource',
  'UpdateAlias',
  'UpdateKeyDescription',
];
