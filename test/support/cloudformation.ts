import { type Identity, identities } from './cloudformation-identities.ts';

/** Where a template goes. */
export interface Place {
  readonly stackName: string;
  readonly account: string;
  readonly region: string;
  readonly partition: string;
}

/** A template as the CDK writes it, as far as it matters here. */
export interface TemplateText {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties?: unknown }>>;
}

/** A resource after deployment: nothing in its properties refers to anything any more. */
export interface Deployed extends Identity {
  readonly id: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a resource has one of a hundred shapes, and each reader looks at one of them
  readonly properties: any;
}

/**
 * What a template becomes, without AWS: every intrinsic is resolved as CloudFormation does it. Throws for an intrinsic, a
 * type of resource or an attribute that it does not know: a guess here would be a permission that no test has examined.
 */
export function deploy({ Resources }: TemplateText, place: Place): readonly Deployed[] {
  const pseudoParameters: Readonly<Record<string, string>> = {
    'AWS::AccountId': place.account,
    'AWS::Partition': place.partition,
    'AWS::Region': place.region,
    'AWS::StackName': place.stackName,
  };

  function identify(id: string): Identity {
    const { Type, Properties } = Resources[id] ?? { Type: 'of no resource' };
    const identity = identities[Type];
    if (identity === undefined) throw new Error(`What is ${id}, ${Type}?`);
    return identity({ ...place, id, property: (name) => resolve(Object(Properties)[name]) });
  }

  function attribute(id: string, name: string): string {
    const value = identify(id).attributes[name];
    if (value === undefined) throw new Error(`What is ${id}.${name}, ${Resources[id]?.Type}?`);
    return value;
  }

  function refer(id: string): string {
    return pseudoParameters[id] ?? identify(id).ref;
  }

  function substitute(text: string): string {
    return text.replace(/\$\{([^!][^}]*)\}/g, (_, name: string) => {
      const [id = '', ...path] = name.split('.');
      return path.length === 0 ? refer(id) : attribute(id, path.join('.'));
    });
  }

  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const [name = '', argument] = entries[0] ?? [];
    if (name === 'Ref' && typeof argument === 'string') return refer(argument);
    if (name === 'Fn::GetAtt' && isTexts(argument)) return attribute(argument[0] ?? '', argument.slice(1).join('.'));
    if (name === 'Fn::Sub' && typeof argument === 'string') return substitute(argument);
    if (name === 'Fn::Join' && Array.isArray(argument)) {
      const [separator, parts] = [argument[0], resolve(argument[1])];
      if (typeof separator === 'string' && isTexts(parts)) return parts.join(separator);
    }
    if (/^(Ref|Fn::.*)$/.test(name)) throw new Error(`What is ${JSON.stringify(value)}?`);
    return Object.fromEntries(entries.map(([key, inner]) => [key, resolve(inner)]));
  }

  return Object.entries(Resources).map(([id, { Type, Properties = {} }]) => ({
    id,
    type: Type,
    properties: resolve(Properties),
    ...identify(id),
  }));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
