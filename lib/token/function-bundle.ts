import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Stage } from 'aws-cdk-lib';
import { type BundlingOptions, type ICommandHooks, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';
import { shortDigest } from '../../functions/variables.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The path of the settings that `functionBundle` puts next to the code of the token function. */
export const SETTINGS_PATH = '/var/task/settings.json';

/**
 * Bundles the code and the AWS SDK into a single file, with `settings` next to it as JSON, see `SETTINGS_PATH`. The
 * hash of the asset covers both, so a changed setting changes the asset.
 */
export function functionBundle(scope: Construct, settings?: object): BundlingOptions {
  return {
    // Bundles the AWS SDK. Lambda's copy, the CDK's default, changes without a deployment and starts slower.
    externalModules: [],
    mainFields: ['module', 'main'],
    target: 'node24',
    // Only an ES module can await its first reads during the init phase.
    format: OutputFormat.ESM,
    minify: true,
    define: { 'process.env.TOKEN_BROKER_RELEASE': JSON.stringify(packageJson.version) },
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

/** Names the file by its content, because the CDK treats bundles with the same commands as the same bundle. */
function writeSettings(scope: Construct, json: string): string {
  const directory = Stage.of(scope)?.outdir;
  if (directory === undefined) throw new Error('A function can only be bundled inside an App.');
  const file = path.resolve(directory, `settings.${shortDigest(json)}.json`);
  writeFileSync(file, json);
  return file;
}
