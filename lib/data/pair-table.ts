import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { AnyPrincipal, Effect, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct, type IDependable } from 'constructs';
import { sealingKeyName } from '../../functions/vocabulary.ts';
import { functionName, tableName } from '../settings/names.ts';
import { allow, allowKey } from './allow.ts';
import { asFunction } from './client-secrets.ts';

/**
 * The state that all instances of the token function share: an item per pair with its sealed token, and the sealing
 * key. The table is a cache, without backups and deleted with its stack. It is protected, because it also stores the
 * operators' flags.
 */
export class PairTable extends Construct {
  readonly tableName: string;
  readonly #tableArn: string;
  readonly #table: Table;
  readonly #key: IKey;
  readonly #environment: string;
  readonly #sealingKeyArn: string;

  constructor(
    scope: Construct,
    id: string,
    { environment, key }: { readonly environment: string; readonly key: IKey },
  ) {
    super(scope, id);
    this.#environment = environment;
    this.#key = key;
    // A string, not a reference, because the table is created after its users.
    this.tableName = tableName(environment);
    this.#tableArn = Stack.of(this).formatArn({ service: 'dynamodb', resource: 'table', resourceName: this.tableName });
    this.#table = new Table(this, 'Table', {
      tableName: this.tableName,
      partitionKey: { name: 'pair', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.CUSTOMER_MANAGED,
      encryptionKey: key,
      timeToLiveAttribute: 'forgetAt',
      removalPolicy: RemovalPolicy.DESTROY,
      deletionProtection: true,
    });

    // The CDK's `Secret` would add wildcards to the policy of the key.
    const sealingKey = new CfnSecret(this, 'SealingKey', {
      // Outside the clients' prefix, so that a right to read client secrets does not cover it.
      name: sealingKeyName(environment),
      description: `Seals the tokens in the table of environment ${environment}`,
      kmsKeyId: key.keyArn,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
    });
    sealingKey.applyRemovalPolicy(RemovalPolicy.DESTROY);
    this.#sealingKeyArn = sealingKey.ref;
  }

  /** Creates the table last, because CloudFormation cannot roll back the creation of a protected table. */
  createAfter(...others: IDependable[]): void {
    this.#table.node.addDependency(...others);
  }

  /** Lets a role read and change the pairs and open their tokens. Denies the sealing key to every other role. */
  allowSharing(role: IRole): void {
    allow(role, ITEM_ACTIONS, this.#tableArn);
    this.#allowTableKey(role);
    const asTokenFunction = asFunction(this, functionName(this.#environment));
    allow(role, ['secretsmanager:GetSecretValue'], this.#sealingKeyArn, asTokenFunction);
    allowKey(role, this.#key, ['kms:Decrypt'], 'secretsmanager', { SecretARN: this.#sealingKeyArn });
    const denyOthers = new PolicyStatement({
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions: ['secretsmanager:GetSecretValue'],
      resources: ['*'],
      conditions: { ArnNotEquals: { 'aws:PrincipalArn': role.roleArn } },
    });
    const policy = new CfnResourcePolicy(this, 'SealingKeyPolicy', {
      secretId: this.#sealingKeyArn,
      blockPublicPolicy: true,
      resourcePolicy: new PolicyDocument({ statements: [denyOthers] }),
    });
    this.createAfter(policy);
  }

  /** Lets a role store the state of notifications in items next to the pairs, without access to the pairs. */
  allowRemembering(role: IRole): void {
    // A client's name contains no colon, so the key of a pair cannot begin with this.
    const besidePairs = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['notify:*'] } };
    allow(role, ITEM_ACTIONS, this.#tableArn, besidePairs);
    this.#allowTableKey(role);
  }

  #allowTableKey(role: IRole): void {
    allowKey(role, this.#key, ['kms:Decrypt', 'kms:Encrypt', 'kms:GenerateDataKey'], 'dynamodb', {
      'aws:dynamodb:tableName': this.tableName,
      'aws:dynamodb:subscriberId': Stack.of(this).account,
    });
    // DescribeKey takes no encryption context.
    allowKey(role, this.#key, ['kms:DescribeKey'], 'dynamodb');
  }
}

const ITEM_ACTIONS = ['dynamodb:GetItem', 'dynamodb:UpdateItem'];
