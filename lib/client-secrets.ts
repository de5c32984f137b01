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
  readonly #environment: string;

  constructor(scope: Construct, id: string, { environment }: ClientSecretsProps) {
    super(scope, id);
    this.#environment = environment;
    this.key = new Key(this, 'Key', {
      description: `Encrypts the client secrets token-broker/${environment}/*`,
      enableKeyRotation: true,
      // The secrets outlive the stack, and without their key they are lost.
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  /** Lets a role read every client's secret of this environment, and nothing else with the key. */
  allowReading(role: IRole): void {
    const { region } = Stack.of(this);
    const secrets = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      resourceName: `token-broker/${this.#environment}/*`,
    });
    role.addToPrincipalPolicy(
      new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [secrets] }),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt'],
        resources: [this.key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` } },
      }),
    );
  }
}
