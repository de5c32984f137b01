import type { Resource } from '../../stack/synthesise.ts';

export type Resources = Readonly<Record<string, Resource>>;

/** What deployment would give to what a template only refers to. */
export const DEPLOYED = { version: '7', queue: 'failed-events', region: 'eu-west-1' } as const;

/** Puts the names of resources in the place of references. */
export function resolve(value: unknown, resources: Resources): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, resources));
  if (typeof value !== 'object' || value === null) return value;
  const [[key, inner] = ['', undefined], ...others] = Object.entries(value);
  if (others.length === 0 && inner === 'AWS::Region') return DEPLOYED.region;
  if (others.length === 0 && key === 'Ref') return resources[String(inner)]?.Properties.FunctionName ?? inner;
  if (others.length === 0 && key === 'Fn::GetAtt' && Array.isArray(inner)) return attribute(String(inner[1]));
  if (others.length === 0 && key === 'Fn::Join' && Array.isArray(inner)) {
    const [separator, parts] = inner;
    return parts.map((part: unknown) => resolve(part, resources)).join(separator);
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolve(item, resources)]));
}

function attribute(name: string): string {
  if (name === 'Version') return DEPLOYED.version;
  if (name === 'QueueName') return DEPLOYED.queue;
  if (name === 'Arn') return 'arn';
  throw new TypeError(`the ${name} of a resource is not known here`);
}
