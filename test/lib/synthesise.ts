import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { parseEnvironment } from '../../lib/settings.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';

interface Options {
  /** Bundling the code takes seconds; without it the asset is not the function's code. */
  readonly bundled: boolean;
}

/** What one environment becomes. */
export interface Synthesised {
  /** The template, byte for byte. */
  readonly text: string;
  readonly template: Template;
  readonly terminationProtection: boolean | undefined;
  /** The files that the function's code asset holds, by name; empty unless it was bundled. */
  readonly asset: Readonly<Record<string, string>>;
}

interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs: Readonly<Record<string, { readonly Value: unknown }>>;
}

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template has a thousand shapes, and an assertion looks at one of them
  readonly Properties: any;
  readonly DeletionPolicy?: string;
}

/** Synthesises the stack of one environment as the CDK's command line does, with the flags of `cdk.json`. */
export function synthesise(name: string, form: unknown, { bundled }: Options = { bundled: false }): Synthesised {
  const outdir = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  try {
    const context = { ...cdkJson.context, ...(!bundled && { 'aws:cdk:bundling-stacks': [] }) };
    const app = new App({ analyticsReporting: false, outdir, context });
    new TokenBrokerStack(app, `TokenBroker-${name}`, { environment: parseEnvironment(name, form) });
    const artifact = app.synth().getStackByName(`TokenBroker-${name}`);
    const text = readFileSync(artifact.templateFullPath, 'utf8');
    const template: Template = JSON.parse(text);
    const { terminationProtection } = artifact;
    return { text, template, terminationProtection, asset: bundled ? readAsset(outdir) : {} };
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

export function resourcesOf({ template }: Synthesised, type: string): readonly Resource[] {
  return Object.values(template.Resources).filter((resource) => resource.Type === type);
}

function readAsset(outdir: string): Record<string, string> {
  const directory = readdirSync(outdir).find((name) => name.startsWith('asset.'));
  if (directory === undefined) throw new Error('nothing was bundled');
  const files = readdirSync(path.join(outdir, directory));
  return Object.fromEntries(files.map((file) => [file, readFileSync(path.join(outdir, directory, file), 'utf8')]));
}
