import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { AnyPrincipal, Effect, type IRole, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnResourcePolicy, CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct, type IDependable } from 'constructs';
import { sealingKeyName } from '../../functions/contract.ts';
import { tableName } from '../settings/names.ts';
import { asTokenFunction, viaService } from './client-secrets.ts';

interface PairTableProps {
  readonly environment: string;
  readonly key: IKey;
}

/**
 * What all instances of the token function share: one item per pair, its token sealed, and the key that seals it.
 * A cache: it has no backups, and goes with its stack. Protected, because it also holds the operators' flags.
 */
export class PairTable extends Construct {
  readonly tableName: string;
  readonly #tableArn: string;
  readonly #table: Table;
  readonly #key: IKey;
  readonly #environment: string;
  readonly #sealingKeyArn: string;

  constructor(scope: Construct, id: string, { environment, key }: PairTableProps) {
    super(scope, id);
    this.#environment = environment;
    this.#key = key;
    // Written out, because the table is made after those who use it.
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

    // The CDK's own construct would add wildcards to the policy of the key.
    const sealingKey = new CfnSecret(this, 'SealingKey', {
      // Outside the clients' prefix: a right to read or list client secrets does not reach it.
      name: sealingKeyName(environment),
      description: `Seals the tokens in the table of environment ${environment}`,
      kmsKeyId: key.keyArn,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
    });
    sealingKey.applyRemovalPolicy(RemovalPolicy.DESTROY);
    this.#sealingKeyArn = sealingKey.ref;
  }

  /** Makes the table the last of a stack: a creation that fails before it can be undone, which a protected table prevents. */
  createAfter(...others: IDependable[]): void {
    this.#table.node.addDependency(...others);
  }

  /** Lets one role, and no other role of the account, open the tokens of the pairs, and read and change the pairs. */
  allowSharing(role: IRole): void {
    role.addToPrincipalPolicy(new PolicyStatement({ actions: [...ITEM_ACTIONS], resources: [this.#tableArn] }));
    this.#allowTableKey(role);
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['secretsmanager:GetSecretValue'],
        resources: [this.#sealingKeyArn],
        conditions: asTokenFunction(this, this.#environment),
      }),
    );
    this.#allowKey(role, ['kms:Decrypt'], 'secretsmanager', { 'kms:EncryptionContext:SecretARN': this.#sealingKeyArn });
    const policy = new CfnResourcePolicy(this, 'SealingKeyPolicy', {
      secretId: this.#sealingKeyArn,
      blockPublicPolicy: true,
      resourcePolicy: new PolicyDocument({
        statements: [
          new PolicyStatement({
            effect: Effect.DENY,
            principals: [new AnyPrincipal()],
            actions: ['secretsmanager:GetSecretValue'],
            resources: ['*'],
            conditions: { ArnNotEquals: { 'aws:PrincipalArn': role.roleArn } },
          }),
        ],
      }),
    });
    this.createAfter(policy);
  }

  /** Lets a role remember what the operators were told, in items beside the pairs; no pair is within its reach. */
  allowRemembering(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: [...ITEM_ACTIONS],
        resources: [this.#tableArn],
        // No name of a client holds a colon, so no pair's key begins like this.
        conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['notify:*'] } },
      }),
    );
    this.#allowTableKey(role);
  }

  #allowTableKey(role: IRole): void {
    this.#allowKey(role, ['kms:Decrypt', 'kms:Encrypt', 'kms:GenerateDataKey'], 'dynamodb', {
      'kms:EncryptionContext:aws:dynamodb:tableName': this.tableName,
      'kms:EncryptionContext:aws:dynamodb:subscriberId': Stack.of(this).account,
    });
    // A call without an encryption context.
    this.#allowKey(role, ['kms:DescribeKey'], 'dynamodb', {});
  }

  #allowKey(role: IRole, actions: string[], service: string, context: Readonly<Record<string, string>>): void {
    const throughService = { 'kms:ViaService': viaService(service, Stack.of(this).region) };
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions,
        resources: [this.#key.keyArn],
        conditions: { StringEquals: { ...throughService, ...context } },
      }),
    );
  }
}

const ITEM_ACTIONS = ['dynamodb:GetItem', 'dynamodb:UpdateItem'];
