import { ArnFormat, Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { createBrokerKey, viaService } from './broker-key.ts';

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

  constructor(scope: Construct, id: string, { environment, keyArn }: ClientSecretsProps) {
    super(scope, id);
    this.namePrefix = `token-broker/${environment}/`;
    this.key = createBrokerKey(this, 'Key', { environment, keyArn });
  }

  /** Lets a role read every client's secret of this environment, and use the key for nothing else. */
  allowReading(role: IRole): void {
    const { region } = Stack.of(this);
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [this.#secretArns()] }),
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

  /** Lets a role see which secrets there are, those of others in this account too: IAM cannot say which ones to list. */
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
