import { Stack } from 'aws-cdk-lib';
import { type IPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type Alias, FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';

/** Condition operator → key → values. */
type Conditions = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

/** Adds a right to a role's own policy. */
export function allow(role: IPrincipal, actions: readonly string[], resource: string, conditions: Conditions = {}) {
  role.addToPrincipalPolicy(new PolicyStatement({ actions: [...actions], resources: [resource], conditions }));
}

/** Lets a role use the key only through the service and only with this encryption context. */
export function allowKey(
  role: IPrincipal,
  key: IKey,
  actions: readonly string[],
  service: string,
  encryptionContext: Readonly<Record<string, string>> = {},
): void {
  const context = Object.entries(encryptionContext).map(([name, value]) => [`kms:EncryptionContext:${name}`, value]);
  const through = { 'kms:ViaService': viaService(service, Stack.of(key).region) };
  allow(role, actions, key.keyArn, { StringEquals: { ...through, ...Object.fromEntries(context) } });
}

/** Returns the value of the condition `kms:ViaService` for calls of KMS by the service. */
export function viaService(service: string, region: string): string {
  return `${service}.${region}.amazonaws.com`;
}

/** Lets a role of this stack call an alias through its URL only. */
export function allowUrlCalls(role: IPrincipal, { functionArn }: Alias): void {
  allow(role, ['lambda:InvokeFunctionUrl'], functionArn, {
    StringEquals: { 'lambda:FunctionUrlAuthType': FunctionUrlAuthType.AWS_IAM },
  });
  allow(role, ['lambda:InvokeFunction'], functionArn, { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } });
}
