import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';

interface ClientSecretsProps {
  readonly environment: string;
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

  constructor(scope: Construct, id: string, { environment }: ClientSecretsProps) {
    super(scope, id);
    this.namePrefix = `token-broker/${environment}/`;
    this.key = new Key(this, 'Key', {
      description: `Encrypts the client secrets ${this.namePrefix}*`,
      enableKeyRotation: true,
      // The secrets outlive the stack, and without their key they are lost.
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  /** Lets a role read every client's secret of this environment, and nothing else with the key. */
  allowReading(role: IRole): void {
    const { region } = Stack.of(this);
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [this.#secretArns()] }),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt'],
        resources: [this.key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` } },
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
