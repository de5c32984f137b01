import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import cdkJson from '../../../cdk.json' with { type: 'json' };
import { parseEnvironment } from '../../../lib/settings/settings.ts';
import { TokenBrokerStack } from '../../../lib/token-broker-stack.ts';
import { SYNTHESISED } from './synthesise-once.ts';

/** The stack of one environment. */
export interface Synthesised {
  readonly text: string;
  readonly template: Template;
  readonly terminationProtection: boolean | undefined;
  /** The files of each function's code asset, by the functions' names and their own; empty unless bundled. */
  readonly assets: Readonly<Record<string, Asset>>;
}

type Asset = Readonly<Record<string, string>>;

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

export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Principal?: unknown;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

export interface Options {
  /** Bundling the code takes a second; without it the asset is not the function's code. */
  readonly bundled?: boolean;
  /** Added to the context of `cdk.json`. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/**
 * The stack of one environment. Each is synthesised once in a test run and kept as JSON, for the workers to share.
 *
 * @throws Error with the faults that the settings or the stack name
 */
export function synthesise(name: string, form: unknown, options: Options = {}): Synthesised {
  const order = createHash('sha256').update(JSON.stringify({ name, form, options }));
  const file = path.join(SYNTHESISED, `${order.digest('hex')}.json`);
  if (!existsSync(file)) {
    // Two workers may order the same at once: each writes a whole file, and the last one stays.
    const own = `${file}.${process.pid}`;
    writeFileSync(own, JSON.stringify(synthesiseAnew(name, form, options)));
    renameSync(own, file);
  }
  return JSON.parse(readFileSync(file, 'utf8'));
}

function synthesiseAnew(name: string, form: unknown, options: Options): Synthesised {
  const environment = parseEnvironment(name, form);
  const app = newApp(options);
  const { artifactId } = quietly(() => new TokenBrokerStack(app, `TokenBroker-${name}`, { environment }));
  const artifact = quietly(() => app.synth()).getStackArtifact(artifactId);
  const text = readFileSync(artifact.templateFullPath, 'utf8');
  const template: Template = JSON.parse(text);
  const { terminationProtection } = artifact;
  return { text, template, terminationProtection, assets: options.bundled ? readAssets(app.outdir, template) : {} };
}

/**
 * An app with the flags of `cdk.json`, as the CDK's command line makes it, in a folder of this test run. The CDK's own
 * rules take ten times as long as the rest: test/stack/template-checks.test.ts has them.
 */
export function newApp({ bundled = false, context = {} }: Options = {}): App {
  const outdir = mkdtempSync(path.join(SYNTHESISED, 'app-'));
  const unbundled = bundled ? {} : { 'aws:cdk:bundling-stacks': [] };
  const unchecked = { analyticsReporting: false, treeMetadata: false, builtinCloudFormationValidation: false };
  return new App({ ...unchecked, outdir, context: { ...cdkJson.context, ...context, ...unbundled } });
}

/** The CDK tells on standard error that it bundles; a bundler's own complaints go past this. */
function quietly<Result>(act: () => Result): Result {
  const { write } = process.stderr;
  process.stderr.write = () => true;
  try {
    return act();
  } finally {
    process.stderr.write = write;
  }
}

function readAssets(outdir: string, template: Template): Record<string, Asset> {
  const functions = resourcesOf({ template }, 'AWS::Lambda::Function');
  return Object.fromEntries(
    functions.map(({ Properties: { FunctionName, Code } }) => {
      const directory = path.join(outdir, `asset.${path.basename(Code.S3Key, '.zip')}`);
      const files = readdirSync(directory).map((file) => [file, readFileSync(path.join(directory, file), 'utf8')]);
      return [FunctionName, Object.fromEntries(files)];
    }),
  );
}

export function resourcesOf({ template }: Pick<Synthesised, 'template'>, type: string): readonly Resource[] {
  return Object.values(template.Resources).filter((resource) => resource.Type === type);
}

/** The one resource of the type within the construct that is called so in the stack, with its own id. */
export function resourceOf({ template }: Pick<Synthesised, 'template'>, construct: string, type: string) {
  const all = Object.entries(template.Resources).map(([id, resource]) => ({ ...resource, id }));
  const [found, ...others] = all.filter(({ id, Type }) => id.startsWith(construct) && Type === type);
  if (found === undefined || others.length > 0) throw new Error(`${construct} has not one ${type}`);
  return found;
}
