import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CommandFailure } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { DoctorStep } from '../../../client/commands/step.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { stackName } from '../../../lib/settings/names.ts';
import { elementOf } from '../shared/ask-aws.ts';
import type { Asker, Properties } from './ask.ts';

/** One thing to prove. */
export interface Line {
  readonly line: string;
  /** Left out, the line is for every environment. */
  readonly isFor?: (world: World, isGuarded: boolean) => boolean;
  /** @throws CommandFailure when AWS does not say */
  readonly look: (world: World) => Promise<Seen>;
}

export type Seen = Omit<DoctorStep, 'step'>;

/** What the lines look at. */
export interface World extends Deployed {
  readonly shell: Shell;
  readonly environment: Environment;
  readonly asker: Asker;
  /** Of the signatures for the URL. */
  readonly region: string;
  /** The profile for the direct invocation. */
  readonly direct: string | undefined;
}

interface Deployed {
  /** What CloudFormation says of the stack, as XML. */
  readonly stack: string;
  /** Of the broker to call. */
  readonly url: string;
  readonly outputUrl: string;
  readonly keyArn: string;
  /** The resources as the settings of this checkout make them, by type. */
  readonly synthesised: (type: string) => readonly Properties[];
}

/** The outputs of the stack, and the template that the settings make now. @throws CommandFailure when there is no stack */
export async function deployedOf(asker: Asker, environment: Environment, url: string | undefined): Promise<Deployed> {
  const stack = await asker.xml('operator', 'cloudformation', 'DescribeStacks', {
    StackName: stackName(environment.name),
  });
  const outputs = [...stack.matchAll(/<OutputKey>(\w+)<\/OutputKey>\s*<OutputValue>([^<]*)<\/OutputValue>/g)];
  const output = (name: string) => outputs.find(([, key]) => key === name)?.[2] ?? '';
  if (output('Url') === '') {
    const detail = `The stack has no outputs: it is ${elementOf(stack, 'StackStatus')}`;
    throw new CommandFailure('stack-incomplete', detail, 'Deploy; docs/operations.md, "When a deployment fails".');
  }
  const resources = await synthesise(environment);
  return {
    stack,
    url: url ?? output('Url'),
    outputUrl: output('Url'),
    keyArn: output('KeyArn'),
    synthesised: (type) => resources.filter((one) => one.Type === type).map(({ Properties }) => Properties),
  };
}

/** Without the functions' code, which takes seconds to bundle. */
async function synthesise(environment: Environment): Promise<readonly { Type: string; Properties: Properties }[]> {
  const { App } = await import('aws-cdk-lib');
  const { TokenBrokerStack } = await import('../../../lib/token-broker-stack.ts');
  const outdir = mkdtempSync(path.join(tmpdir(), 'token-broker-'));
  try {
    const app = new App({
      analyticsReporting: false,
      builtinCloudFormationValidation: false,
      outdir,
      context: { 'aws:cdk:bundling-stacks': [] },
    });
    const { artifactId } = new TokenBrokerStack(app, stackName(environment.name), { environment });
    return Object.values(app.synth().getStackArtifact(artifactId).template.Resources);
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

export const good = (detail: string): Seen => ({ outcome: 'ok', detail });
export const unproven = (detail: string): Seen => ({ outcome: 'unknown', detail });
export const wrong = (detail: string, advice: string): Seen => ({ outcome: 'failed', detail, advice });

const DIFFERS =
  'Deploy what these settings say. If no deployment changed it, look in the records of CloudTrail for who did.';

/** Good when nothing differs; each difference is a few words. */
export function compared(what: string, differences: readonly (string | false)[]): Seen {
  const found = differences.filter((one) => one !== false);
  return found.length === 0 ? good(what) : wrong(found.join('; '), DIFFERS);
}
