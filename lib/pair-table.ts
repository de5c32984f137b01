import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

interface PairTableProps {
  readonly environment: string;
  readonly key: IKey;
}

/**
 * What all instances of the token function share: one item per pair, its token sealed, and the key that seals it.
 * A cache: it has no backups and goes with its stack.
 */
export class PairTable extends Construct {
  readonly tableName: string;
  readonly #table: Table;
  readonly #key: IKey;
  readonly #sealingKeyArn: string;

  constructor(scope: Construct, id: string, { environment, key }: PairTableProps) {
    super(scope, id);
    this.#key = key;
    this.#table = new Table(this, 'Table', {
      partitionKey: { name: 'pair', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.CUSTOMER_MANAGED,
      encryptionKey: key,
      timeToLiveAttribute: 'forgetAt',
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.tableName = this.#table.tableName;

    const sealingKey = new Secret(this, 'SealingKey', {
      // Outside of the clients' prefix: whoever may read or list client secrets sees nothing of it.
      secretName: `token-broker-keys/${environment}/sealing`,
      description: `Seals the tokens in the table of environment ${environment}`,
      encryptionKey: key,
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.#sealingKeyArn = sealingKey.secretArn;
  }

  /** Lets a role read and change the pairs, and open their tokens. Reading the key itself needs `ClientSecrets`' grant too. */
  allowSharing(role: IRole): void {
    role.addToPrincipalPolicy(new PolicyStatement({ actions: [...ITEM_ACTIONS], resources: [this.#table.tableArn] }));
    this.#allowKey(role);
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [this.#sealingKeyArn] }),
    );
  }

  /** Lets a role remember what the operators were told, in items beside the pairs; no pair is within its reach. */
  allowRemembering(role: IRole): void {
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: [...ITEM_ACTIONS],
        resources: [this.#table.tableArn],
        // With its colon it is the start of no pair's key, whatever a client is called.
        conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['notify:*'] } },
      }),
    );
    this.#allowKey(role);
  }

  #allowKey(role: IRole): void {
    const { region } = Stack.of(this);
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'],
        resources: [this.#key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `dynamodb.${region}.amazonaws.com` } },
      }),
    );
  }
}

const ITEM_ACTIONS = ['dynamodb:GetItem', 'dynamodb:UpdateItem'];
