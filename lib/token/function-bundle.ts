import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Stage } from 'aws-cdk-lib';
import { type BundlingOptions, type ICommandHooks, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';
import { shortDigest } from '../../functions/variables.ts';

/** Where the token function finds the settings that `functionBundle` lays beside its code. */
export const SETTINGS_PATH = '/var/task/settings.json';

export interface BundleOptions {
  /** Laid beside the code as JSON, see `SETTINGS_PATH`. */
  readonly settings?: object | undefined;
}

/**
 * One file of code with the AWS SDK in it, and `settings`, if any, beside it. The hash covers both, so a changed setting is
 * a changed asset.
 */
export function functionBundle(scope: Construct, { settings }: BundleOptions = {}): BundlingOptions {
  return {
    // The CDK would leave out the AWS SDK, for which Lambda has a copy: it changes without a deployment and starts slower.
    externalModules: [],
    mainFields: ['module', 'main'],
    target: 'node24',
    // Only an ES module can wait for its first reads before Lambda counts it as started.
    format: OutputFormat.ESM,
    minify: true,
    logLevel: LogLevel.WARNING,
    ...(settings && { commandHooks: layBesideCode(writeSettings(scope, JSON.stringify(settings))) }),
  };
}

function layBesideCode(file: string): ICommandHooks {
  const copy = process.platform === 'win32' ? 'copy' : 'cp';
  return {
    beforeBundling: () => [],
    beforeInstall: () => [],
    afterBundling: (_, directory) => [`${copy} "${file}" "${path.join(directory, path.basename(SETTINGS_PATH))}"`],
  };
}

/** Named by its content, because the CDK takes two bundles with the same commands for the same bundle. */
function writeSettings(scope: Construct, json: string): string {
  const directory = Stage.of(scope)?.outdir;
  if (directory === undefined) throw new Error('A function is bundled inside of an App.');
  const file = path.resolve(directory, `settings.${shortDigest(json)}.json`);
  writeFileSync(file, json);
  return file;
}
