import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { SYNTHESISED } from './synthesise-once.ts';

/** What one environment becomes. */
export interface Synthesised {
  /** The template, byte for byte. */
  readonly text: string;
  readonly template: Template;
  readonly terminationProtection: boolean | undefined;
  /** The files of each function's code asset, by the functions' names and their own; empty unless bundled. */
  readonly assets: Readonly<Record<string, Asset>>;
}

export type Asset = Readonly<Record<string, string>>;

export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: unknown }>>;
}

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template has a thousand shapes, and an assertion looks at one of them
  readonly Properties: any;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly UpdatePolicy?: unknown;
  readonly DependsOn?: readonly string[];
}

/** A statement of a policy, of a role or of a resource. */
export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Principal?: unknown;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/**
 * The stack of one environment. Each is synthesised once in a test run, by a process of its own, and kept as JSON: the CDK
 * takes seconds to load and to run.
 *
 * @throws Error what the settings or the stack refuse
 */
export function synthesise(name: string, form: unknown, { bundled = false } = {}): Synthesised {
  const order = JSON.stringify({ name, form, bundled });
  const file = path.join(SYNTHESISED, `${createHash('sha256').update(order).digest('hex')}.json`);
  if (!existsSync(file)) execFileSync(process.execPath, [PROGRAM, file], { input: order, stdio: 'pipe' });
  const outcome: Synthesised | { readonly failure: string } = JSON.parse(readFileSync(file, 'utf8'));
  if ('failure' in outcome) throw new Error(outcome.failure);
  return outcome;
}

const PROGRAM = fileURLToPath(new URL('synthesise-main.ts', import.meta.url));

export function resourcesOf({ template }: Pick<Synthesised, 'template'>, type: string): readonly Resource[] {
  return Object.values(template.Resources).filter((resource) => resource.Type === type);
}

/** The one resource of the type within the construct that is called so in the stack, with its own id. */
export function resourceOf(
  synthesised: Pick<Synthesised, 'template'>,
  construct: string,
  type: string,
): Resource & { readonly id: string } {
  const found = Object.entries(synthesised.template.Resources).filter(
    ([id, resource]) => id.startsWith(construct) && resource.Type === type,
  );
  const [[id, resource] = ['', undefined]] = found;
  if (resource === undefined || found.length > 1) throw new Error(`${construct} has ${found.length} of ${type}`);
  return { ...resource, id };
}
