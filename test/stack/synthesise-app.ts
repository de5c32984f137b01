import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { type Environment, parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { type Asset, resourcesOf, type Synthesised, type Template } from './synthesise.ts';

interface Options {
  /** Bundling the code takes seconds; without it the asset is not the function's code. */
  readonly bundled?: boolean;
  /** As in `cdk.json`, beside what is there. */
  readonly context?: Readonly<Record<string, unknown>>;
  /** Changes the settings after they were checked, to values that the checks would refuse. */
  readonly change?: (environment: Environment) => Environment;
}

/** Synthesises the stack of one environment as the CDK's command line does, with the flags of `cdk.json`. */
export function synthesiseApp(name: string, form: unknown, options: Options = {}): Synthesised {
  const { bundled = false, change = (environment) => environment } = options;
  const outdir = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  try {
    const context = { ...cdkJson.context, ...options.context, ...(!bundled && { 'aws:cdk:bundling-stacks': [] }) };
    const app = new App({ analyticsReporting: false, outdir, context });
    new TokenBrokerStack(app, `TokenBroker-${name}`, { environment: change(parseEnvironment(name, form)) });
    const artifact = app.synth().getStackByName(`TokenBroker-${name}`);
    const text = readFileSync(artifact.templateFullPath, 'utf8');
    const template: Template = JSON.parse(text);
    const { terminationProtection } = artifact;
    return { text, template, terminationProtection, assets: bundled ? readAssets(outdir, template) : {} };
  } finally {
    rmSync(outdir, { recursive: true });
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
