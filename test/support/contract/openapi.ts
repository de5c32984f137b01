import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

type Named<Value> = Readonly<Record<string, Value>>;

/** One response of an OpenAPI description. */
export interface Response {
  readonly description: string;
  readonly headers?: Named<{ readonly $ref: string }>;
  readonly content?: Named<Media>;
}

export interface Media {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Named<{ readonly value: unknown }>;
}

/** The members of an OpenAPI description that the tests read. */
export interface Description {
  readonly info: { readonly version: string };
  readonly paths: Named<{ readonly post: { readonly responses: Named<Response | { readonly $ref: string }> } }>;
  readonly components: {
    readonly headers: Named<object>;
    readonly responses: Named<Response>;
    readonly schemas: Named<Schema>;
  };
}

interface Schema {
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly properties?: Named<Schema>;
}

/** Reads docs/openapi.yaml, the contract. */
export function readContract(): Description {
  return parse(readFileSync(new URL('../../../docs/openapi.yaml', import.meta.url), 'utf8'));
}

/** The response to a POST, and the JSON pointer to it; `undefined` when there is none of this status. */
export function responseOf(
  { paths, components }: Description,
  path: string,
  status: number | string,
): { readonly response: Response; readonly pointer: string } | undefined {
  const response = paths[path]?.post.responses[status];
  if (response === undefined) return undefined;
  if (!('$ref' in response)) return { response, pointer: `#/paths/${escaped(path)}/post/responses/${status}` };
  const shared = components.responses[response.$ref.replace('#/components/responses/', '')];
  return shared && { response: shared, pointer: response.$ref };
}

/** A step of a JSON pointer (RFC 6901 §3). */
export function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}
